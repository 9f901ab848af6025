// The errors that calls end with: kinds and messages.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::test {

/// The Error that `call` ends with; nothing when it returns.
template <typename Call> std::optional<Error> error_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

/// The kind of that Error.
template <typename Call> std::optional<ErrorKind> kind_of(Call&& call) {
    const std::optional<Error> error = error_of(call);
    return error ? std::optional(error->kind()) : std::nullopt;
}

/// The message of the Error that `call` ends with, "" when it returns. An Error of another kind fails the test.
template <typename Call> std::string refusal_of(ErrorKind kind, Call&& call) {
    const std::optional<Error> error = error_of(call);
    if (!error) return "";
    EXPECT_EQ(error->kind(), kind) << error->what();
    return error->what();
}

/// refusal_of() for a call that must not return: the test fails if it does.
template <typename Call> std::string message_of(ErrorKind kind, Call&& call) {
    std::string message = refusal_of(kind, call);
    if (message.empty()) ADD_FAILURE() << "expected an error";
    return message;
}

}  // namespace cnntrain::test

namespace cnntrain {

using test::error_of;
using test::kind_of;
using test::message_of;
using test::refusal_of;

}  // namespace cnntrain
