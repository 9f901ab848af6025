# Shared by all text tests, which begin with:  $ . "$TESTDIR/setup.sh"
# Commands go through `cnntrain`, which runs them on one core and puts words in the place of what differs between
# machines and runs: an accepted text holds no patterns. An exit code that is not 0 follows the lines in brackets.
# No network: weights are fetched through a proxy that is not there.
export https_proxy=http://127.0.0.1:1 XDG_CACHE_HOME="$PWD/cache"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LC_ALL=C.UTF-8 COLUMNS=100 OMP_NUM_THREADS=1 CNNTRAIN_DRY_RUN_ESTIMATE=off

# Times, rates, sizes of this machine, addresses, versions and paths become words.
plain() {
    sed -E \
        -e "s#$CNNTRAIN_PROGRAM#cnntrain#g" \
        -e "s#$CRAMTMP/[^/ ]*/?#HERE/#g" \
        -e "s#$TESTDIR/?#TESTS/#g" \
        -e "s#(^|[^a-zA-Z])$CNNTRAIN_SOURCE/?#\\1SOURCE/#g" \
        -e "s#^( *|.*\| +)$(hostname)( *|[ |].*)\$#\\1HOST\\2#" \
        -e 's/(it cannot be fetched:).*/\1 .../' \
        -e '/^[|=]/s/ +/ /g' -e 's/^={9,}$/===/' -e '/^\|/s/-{3,}/---/g' -e 's/^ +(poprun topology)$/\1/' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[ T_][0-9]{2}[:-][0-9]{2}[:-][0-9]{2}(\.[0-9]+)?/DATE/g' \
        -e 's/[0-9]{8}_[0-9]{6}\.[0-9]{3}/DATE/g' \
        -e 's/[0-9]+:[0-9]{2}:[0-9]{2}/TIME/g' \
        -e 's/(time|total_time|latency avg|Time|took): +[0-9.-]+( ?m?s)?/\1: TIME/g' \
        -e 's/[0-9.]+ (ms|s|seconds|minutes|hours)([ ,;:.)]|$)/TIME \1\2/g' \
        -e 's/[0-9.]+ ((samples|images|sequences|img|texts|seq)\/s)/RATE \1/g' \
        -e 's/throughput: +[0-9.]+/throughput: RATE/g' \
        -e 's/\b(RN|RNX|EN|BERT|Text|bert)[A-Za-z0-9]*(_[A-Za-z0-9.]+)+_[A-Z0-9]{3}([^A-Za-z0-9_]|$)/RUN\3/g' \
        -e 's/(Processor|Threads|Products|Memory|Arithmetic|Input): .*/\1: .../' \
        -e 's/oneDNN [0-9].*/oneDNN .../' -e 's/Fastest arithmetic .*/Fastest arithmetic .../' -e 's/^\{.*\}$/{...}/' \
        -e 's/cnntrain [0-9]+\.[0-9]+\.[0-9]+/cnntrain VERSION/g' \
        -e '/^mpirun /s/ --allow-run-as-root//' \
        -e 's/( in)? [0-9]+\.[0-9]+s([ .,;)]|$)/\1 TIMEs\2/g' \
        -e 's/tfevents\.[0-9]+\.[^ ]*/tfevents.TIME/g' \
        -e 's/(Saved the page to [^ ]+) \(.*/\1/' \
        -e '/^Limited by /d' \
        -e "s#(in / there is no '[^']*' but ).* \([0-9]+ in all\)#\1...#" \
        -e 's/0x[0-9a-f]{6,}/ADDRESS/g'
}

# Numbers that depend on the order of sums, and with it on the processor, lose their digits.
without_digits() {
    sed -E -e 's/[0-9]+(\.[0-9]+)?e-[0-9]+/N/g' -e 's/[0-9]+\.[0-9]{2,}/N/g' \
        -e 's/[0-9]+(\.[0-9])? %/N %/g' -e 's/: +/: /g' \
        -e 's/(difference is|L2 strength) [^ ]+( \(the best of [0-9]+)?/\1 N/'
}

# The same without the list of variables, which one test shows.
brief() {
    without_digits | sed '/^Trainable Variables:/,/^Total Parameters/d'
}

# The same without the head of a run, which ends with its options as JSON.
body() {
    brief | sed '1,/^{\.\.\.}$/d'
}

first_core=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
cnntrain() {
    timeout 120 taskset -c "$first_core" "$CNNTRAIN_PROGRAM" "$@" > "$CRAMTMP/printed" 2>&1 < /dev/null
    set -- $?
    plain < "$CRAMTMP/printed"
    return "$1"
}
