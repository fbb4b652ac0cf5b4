#pragma once

// The TOML library (toml++), set up. Every source that needs it includes this header: its functions
// are inline, so all of them in a program have to be set up alike.

#define TOML_EXCEPTIONS 0
// The library asserts some conditions before it reports them as errors: "[[[" ended a program that
// was built with assertions. Without the assertion it is an error like any other.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>
