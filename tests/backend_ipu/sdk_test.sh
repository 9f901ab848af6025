#!/bin/sh
# The backend builds as for a Poplar SDK. The test makes one: the emulator's headers and library by the SDK's names.
# Its popops::expr::Any is as PopLibs has it: no Expr, but convertible to one, and not copyable.
# usage: sdk_test.sh CMAKE SOURCE EMULATOR_LIBRARY [option of CMake ...]
set -e
cmake=$1
source=$2
emulator=$3
shift 3
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

sdk=$folder/poplar_sdk/poplar-test-1.2.3
mkdir -p "$sdk/include" "$sdk/lib" "$folder/roots"
cp -r "$source/src/ipu_emulator/core" "$source/src/ipu_emulator/libs" "$folder/roots"
cp -r "$source/src/ipu_emulator/core/." "$source/src/ipu_emulator/libs/." "$sdk/include"
for library in poplar poplin popnn popops poprand poputil gcl; do
    cp "$emulator" "$sdk/lib/lib$library.a"
done

# configure NAME OPTION ...
configure() {
    name=$1
    shift
    "$cmake" -S "$source" -B "$folder/$name" -DCNNTRAIN_TOOLS=OFF "$@" >"$folder/$name.log" 2>&1 ||
        { cat "$folder/$name.log"; exit 1; }
}

any=$folder/roots/libs/popops/Expr.hpp
sed -i '/^class Any /,/^};/d' "$any"
sed -i 's|^/// Any formula, as a value\.$|class Any {\
    std::unique_ptr<Expr> expr_;\
public:\
    Any(const Expr\& expr) : expr_(std::make_unique<Expr>(expr)) {}\
    operator Expr\&() { return *expr_; }\
    operator const Expr\&() const { return *expr_; }\
};|' "$any"
grep -q 'unique_ptr<Expr> expr_;' "$any" || { echo "Expr.hpp has no class Any in the expected place"; exit 1; }
configure headers "$@" -DCNNTRAIN_TESTS=OFF "-DCNNTRAIN_POPLAR_INCLUDE=$folder/roots/core;$folder/roots/libs"
"$cmake" --build "$folder/headers" --target backend_ipu_headers

configure linked "$@" -DCNNTRAIN_TESTS=ON "-DCNNTRAIN_POPLAR_SDK=$folder/poplar_sdk"
grep -q 'backend ipu: Poplar SDK 1\.2\.3$' "$folder/linked.log"
"$cmake" --build "$folder/linked" --target backend_ipu_test
! nm -C "$folder/linked/src/backend/ipu/libcnntrain_backend_ipu.a" | grep -q 'poplar::IPUModel'
# The other families call the same libraries.
"$folder/linked/tests/backend_ipu/backend_ipu_test" --gtest_brief=1 "--gtest_filter=*/dense_float:*/conv2d_float" |
    tee "$folder/ran"
grep -q 'PASSED.* 2 tests' "$folder/ran"

rm "$sdk/lib/libgcl.a"
if (configure refused "$@" -DCNNTRAIN_TESTS=OFF "-DCNNTRAIN_POPLAR_SDK=$folder/poplar_sdk") >"$folder/error"; then
    echo "an SDK without libgcl is accepted"
    exit 1
fi
grep -q 'libgcl\.so' "$folder/error"
