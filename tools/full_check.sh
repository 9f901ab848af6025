#!/bin/sh
# The checks that take longer than a change: tools/full_check.sh [STAGE ...], from any folder; all stages by default.
#   address   address and undefined-behaviour sanitizers: the quick tests, then each fuzz target for a minute
#   thread    the thread sanitizer: loader, communication, stages, lanes, replicas, ranks as threads, request threads
#   slow      the tests with the label slow, but for tidy and the trials on fresh systems
#   tidy      clang-tidy over everything that the build compiles
#   debian13  README.md's two commands in a fresh Debian 13 (root)
# A unit is a test program, a fuzz target, a batch of sources. Those that passed are kept in build-check/ by the content
# of all that they read, so a stage that was cut goes on. A row tells of each stage. Exits with 1 if anything failed.
root=$(cd "$(dirname "$0")/.." && pwd)
checks=$root/build-check
jobs=$(nproc)
seconds=${FUZZ_SECONDS:-60}  # of each fuzz target
cd "$root" || exit

# unit NAME KEY COMMAND...: runs the command unless it passed before with this key; its output is NAME.log.
unit() {
    name=$1 key=$2
    shift 2
    units=$((units + 1))
    record=$checks/$stage.results/$name
    if [ "$(cat "$record" 2> /dev/null)" = "$key" ]; then return; fi
    ran=$((ran + 1))
    rm -f "$record"
    if "$@" > "$record.log" 2>&1 < /dev/null; then
        printf '%s' "$key" > "$record"
    else
        findings=$((findings + 1))
        echo "$stage: $name failed: $record.log"
        { grep -E ': (error|warning): |FAILED|ERROR: ' "$record.log" || tail -n 5 "$record.log"; } | head -n 5
    fi
}
content_of() { cat "$@" | sha256sum | cut -c1-16; }

# configure OPTIONS...: a build of this stage with its own options. programs PATTERN: its test programs.
configure() {
    folder=$checks/$stage
    cmake -S . -B "$folder" -G Ninja "$@" > "$folder.log" 2>&1 || { tail "$folder.log" && exit 2; }
}
build() { cmake --build "$folder" "$@" >> "$folder.log" 2>&1 || { tail -n 30 "$folder.log" && exit 2; }; }
programs() { find "$folder/tests" -type f -perm -u+x -name "$1" | sort; }

address() {
    configure -DCNNTRAIN_SANITIZE=address,undefined -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG"
    build
    export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1  # Open MPI and oneDNN leak at their end
    for program in $(programs '*_test'); do
        case $program in *_slow_test | *disagreements_test) continue ;; esac
        unit "$(basename "$program")" "$(content_of "$program" "$folder/cnntrain")" "$program" --gtest_brief=1
    done
    for program in $(programs '*_fuzz'); do
        case $program in *command_lines_fuzz) continue ;; esac
        unit "$(basename "$program")" "$(content_of "$program")" sh -c '
            end=$(($(date +%s) + $2)); seed=1
            while [ "$(date +%s)" -lt "$end" ]; do "$1" -runs=2000 -seed=$seed || exit; seed=$((seed + 1)); done
        ' sh "$program" "$seconds"
    done
}

# libgomp is not instrumented: what runs inside its parallel regions is reported wrongly, and suppressing it would hide
# every kernel. So each lane computes on one thread, and kernels that divide their work are not seen.
thread() {
    configure -DCNNTRAIN_SANITIZE=thread -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DCNNTRAIN_IPU=OFF
    build --target comm_test data_test dataset_tools_test profile_test train_test train_pipeline_test \
        train_features_test train_profile_test
    export OMP_NUM_THREADS=1 TSAN_OPTIONS="die_after_fork=0 suppressions=$root/tests/thread_sanitizer.supp"
    for program in $(programs '*_test'); do
        unit "$(basename "$program")" "$(content_of "$program")" "$program" --gtest_brief=1
    done
}

slow() {
    configure
    build
    key=$(content_of "$folder/cnntrain" $(programs '*_test') tools/*.py tools/compare/*.py tools/*.sh)
    for test in $(ctest --test-dir "$folder" -N -L slow -LE 'lint|debian' | sed -n 's/^ *Test *#[0-9]*: //p'); do
        unit "$(printf '%s' "$test" | tr '/' '_')" "$key" \
            ctest --test-dir "$folder" --output-on-failure -R "^$(printf '%s' "$test" | sed 's/[.+]/\\&/g')\$"
    done
}

# One batch of sources: the key is the content of the batch and of all headers that it includes.
tidy() {
    configure
    build --target cnntrain_example_proto cnntrain_onnx_proto
    list=$checks/tidy.units
    sed -n -e 's/^ *"command": "\(.*\)",$/\1/p' -e 's/^ *"file": "\(.*\)".*/\1/p' "$folder/compile_commands.json" |
        paste - - | grep -v '\.pb\.cc' | sort -u > "$list"
    for worker in $(seq "$jobs"); do
        (
            while IFS="$(printf '\t')" read -r command source; do
                preprocess=$(printf '%s' "$command" | sed -e 's/\\"/"/g' -e 's/ -o [^ ]* -c / -MM -c /')
                depends=$(cd "$folder" && sh -c "$preprocess" 2> /dev/null | tr -d '\\\n' | sed 's/^[^:]*: *//')
                key=$(cd "$folder" && content_of $depends "$root/.clang-tidy")
                unit "$(printf '%s' "${source#"$root"/}" | tr '/' '_')" "$key" clang-tidy -p "$folder" --quiet "$source"
            done
            echo "$units $ran $findings" > "$list.$worker"
        ) << LINES &
$(awk "NR % $jobs == $worker % $jobs" "$list")
LINES
    done
    wait
    counts=$(cat "$list".[0-9]* | awk '{ u += $1; r += $2; f += $3 } END { print u, r, f }')
    rm "$list".[0-9]*
    units=${counts%% *} findings=${counts##* } ran=${counts#* } ran=${ran% *}
}

debian13() { unit trixie "$(git rev-parse 'HEAD^{tree}')" tools/fresh_debian.sh trixie; }

failed=0
for stage in ${*:-address thread slow tidy debian13}; do
    case $stage in
        address | thread | slow | tidy | debian13) ;;
        *) echo "usage: tools/full_check.sh [address] [thread] [slow] [tidy] [debian13]" >&2 && exit 2 ;;
    esac
    mkdir -p "$checks/$stage.results"
    units=0 ran=0 findings=0
    began=$(date +%s)
    $stage
    minutes=$((($(date +%s) - began + 30) / 60))
    row="| $(git rev-parse --short HEAD) | $stage | $units units | $ran ran now | $findings findings | $minutes min |"
    echo "$row" | tee -a "$checks/rows.md"
    [ $findings -eq 0 ] || failed=1
done
exit $failed
