// What the tests of this module share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::launch {

/// What `action` throws; "" when it does not.
template <typename Action> std::string error_of(Action action, ErrorKind kind = ErrorKind::usage) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        return error.what();
    }
    return "";
}

}  // namespace cnntrain::launch
