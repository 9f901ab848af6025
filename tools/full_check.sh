#!/bin/sh
# The checks that take longer than a change: tools/full_check.sh [STAGE ...], from any folder; all stages by default.
#   address   address and undefined-behaviour sanitizers: the quick tests, then each fuzz target for a minute
#   thread    the thread sanitizer: loader, communication, stages, lanes, replicas, ranks as threads, request threads
#   slow      the tests with the label slow, but for the trials on fresh systems
#   tidy      clang-tidy over everything that the build compiles
#   debian13  README.md's two commands in a fresh Debian 13 (root)
# A unit is a test program, a fuzz target, a batch of sources. Those that passed are kept in build-check/ by the content
# of all that they read, so a stage that was cut goes on. Each stage prints a row. Exits with 1 if anything failed.
root=$(cd "$(dirname "$0")/.." && pwd)
checks=$root/build-check
jobs=$(nproc)
seconds=${FUZZ_SECONDS:-60}  # of each fuzz target
cd "$root" || exit

# run_unit RESULTS "NAME<tab>FILES<tab>COMMAND": runs the command, unless it passed before with the same content of the
# files that FILES, a command too, names; its output is NAME.log. Prints what became of it: kept, passed or failed.
run_unit() {
    IFS="$(printf '\t')" read -r name files command << LINE
$2
LINE
    record=$1/$name
    key=$({ echo "$command" && cat $(sh -c "$files"); } | sha256sum | cut -c1-16)
    if [ "$(cat "$record" 2> /dev/null)" = "$key" ]; then echo kept && return; fi
    rm -f "$record"
    if sh -c "$command" > "$record.log" 2>&1 < /dev/null; then
        printf '%s' "$key" > "$record"
        echo passed
    else
        echo "$name failed: $record.log" >&2
        { grep -E ': (error|warning): |FAILED|ERROR: ' "$record.log" || tail -n 5 "$record.log"; } | head -n 5 >&2
        echo failed
    fi
}
# run_units: those of the lines of standard input, as many at once as there are processors. STAGE.ends has a line each.
run_units() {
    cat > "$checks/$stage.units"
    xargs -d '\n' -P "$jobs" -n 1 "$root/tools/full_check.sh" --unit "$checks/$stage.results" < "$checks/$stage.units" |
        tee "$checks/$stage.ends" | while read -r _; do printf . >&2; done
    echo >&2
}
# test_units PROGRAM...: each in four parts.
test_units() {
    for program in "$@"; do
        for part in 0 1 2 3; do
            printf '%s.%s\techo %s %s\tGTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=%s %s --gtest_brief=1\n' \
                "$(basename "$program")" $part "$program" "$(ls "$folder/cnntrain" 2> /dev/null)" $part "$program"
        done
    done
}

# configure OPTIONS...: a build of this stage with its own options. programs PATTERN: its test programs.
configure() {
    folder=$checks/$stage
    cmake -S . -B "$folder" -G Ninja "$@" > "$folder.log" 2>&1 || { tail "$folder.log" && exit 2; }
}
build() { cmake --build "$folder" "$@" >> "$folder.log" 2>&1 || { tail -n 30 "$folder.log" && exit 2; }; }
programs() { find "$folder/tests" -type f -perm -u+x -name "$1" | sort; }

address() {
    configure -DCNNTRAIN_SANITIZE=address,undefined
    build
    export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1  # Open MPI and oneDNN leak at their end
    slow=$(sed -n 's/^ *cnntrain_test(\([a-z_]*\) LABEL slow.*/-e \/\1_test$/p' tests/*/CMakeLists.txt)
    {
        test_units $(programs '*_test' | grep -v -e disagreements_test -e mpi_test -e layers_test $slow)
        printf 'mpi\techo %s\tctest --test-dir %s --output-on-failure -L mpi\n' \
            "$(echo $(programs '*mpi_test'))" "$folder"  # by mpirun
        for program in $(programs '*_fuzz' | grep -v command_lines_fuzz); do
            printf '%s\techo %s\tend=$(($(date +%%s) + %s)); seed=1; while [ $(date +%%s) -lt $end ]; do ' \
                "$(basename "$program")" "$program" "$seconds"
            printf '%s -runs=2000 -seed=$seed || exit; seed=$((seed + 1)); done\n' "$program"
        done
    } | run_units
}

# libgomp and TBB are not instrumented: what runs inside their parallel regions is reported wrongly, and suppressing it
# would hide every kernel. So each lane computes on one thread; kernels that divide their work and the writers of data
# sets, which TBB runs, are not seen.
thread() {
    configure -DCNNTRAIN_SANITIZE=thread -DCNNTRAIN_IPU=OFF
    targets="comm_test data_test profile_test train_test train_features_test train_profile_test"
    build --target $targets
    export OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1
    export TSAN_OPTIONS="die_after_fork=0 suppressions=$root/tests/thread_sanitizer.supp"
    # These tests judge times, which the sanitizer changes.
    export GTEST_FILTER='-PlantedBottleneck.*:InferenceTest.TheTotalIsMeasuredAsFinelyAsTheCalls'
    for target in $targets; do test_units "$(programs "$target")"; done | run_units
}

slow() {
    jobs=1  # they use all processors themselves
    configure
    build
    cat "$folder/cnntrain" $(programs '*_test') tools/*.py tools/compare/*.py tools/*.sh | sha256sum > "$folder.content"
    for test in $(ctest --test-dir "$folder" -N -L slow -LE debian | sed -n 's/^ *Test *#[0-9]*: //p'); do
        printf '%s\techo %s\tctest --test-dir %s --output-on-failure -R ' \
            "$(printf '%s' "$test" | tr '/' '_')" "$folder.content" "$folder"
        printf "'^%s\$'\n" "$(printf '%s' "$test" | sed 's/[.+]/\\&/g')"
    done | run_units
}

# A unit is a batch of sources. It reads what the compiler names of it. Sizes in tests are small, so their products need
# no wider type.
tidy() {
    configure
    build --target cnntrain_example_proto cnntrain_onnx_proto
    tests=-bugprone-implicit-widening-of-multiplication-result,-bugprone-misplaced-widening-cast
    sed -n -e 's/^ *"command": "\(.*\)",$/\1/p' -e 's/^ *"file": "\(.*\)".*/\1/p' "$folder/compile_commands.json" |
        paste - - | grep -v '\.pb\.cc' | sort -u |
        while IFS="$(printf '\t')" read -r command source; do
            case $source in */tests/*) checked=$tests ;; *) checked= ;; esac
            printf '%s\tcd %s && { echo %s; %s; } | tr "\\\\\\\\ " "\\n\\n" | grep "[^:]$" | xargs realpath\t' \
                "$(printf '%s' "${source#"$root"/}" | tr '/' '_')" "$folder" "$root/.clang-tidy" \
                "$(printf '%s' "$command" | sed -e 's/\\"/"/g' -e 's/ -o [^ ]* -c / -MM -c /')"
            printf 'clang-tidy -p %s --quiet %s %s\n' "$folder" "${checked:+--checks=$checked}" "$source"
        done | run_units
}

debian13() {
    printf 'trixie\tgit ls-files -z | xargs -0 ls\ttools/fresh_debian.sh trixie\n' | run_units
}

if [ "$1" = --unit ]; then
    run_unit "$2" "$3"
    exit 0
fi
failed=0
for stage in ${*:-address thread slow tidy debian13}; do
    case $stage in
        address | thread | slow | tidy | debian13) ;;
        *) echo "usage: tools/full_check.sh [address] [thread] [slow] [tidy] [debian13]" >&2 && exit 2 ;;
    esac
    mkdir -p "$checks/$stage.results"
    rm -f "$checks/$stage.units" "$checks/$stage.ends"
    began=$(date +%s)
    ($stage) || exit  # what a stage exports is its own
    units=$(grep -c '' < "$checks/$stage.units")
    ran=$(grep -vc kept < "$checks/$stage.ends")
    findings=$(grep -c failed < "$checks/$stage.ends")
    minutes=$((($(date +%s) - began + 30) / 60))
    row="| $(git rev-parse --short HEAD) | $stage | $units units | $ran ran now | $findings findings | $minutes min |"
    echo "$row" | tee -a "$checks/rows.md"
    [ $findings -eq 0 ] || failed=1
done
exit $failed
