// What tests of specs share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "benchmark/spec.h"
#include "cnntrain/base/error.h"

namespace cnntrain::benchmark::testing {

/// What `action` throws; "" when it does not.
template <typename Action> std::string error_of(Action action, ErrorKind kind = ErrorKind::data) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        return error.what();
    }
    return "";
}

}  // namespace cnntrain::benchmark::testing
