#!/bin/sh
# Number of tests that the last run of ctest skipped, by reason: tools/skipped_tests.sh BUILD_DIR
awk '/: Skipped$/ { getline reason; count[reason]++; total++ }
     END {
         for (reason in count) printf "skipped: %d (%s)\n", count[reason], reason
         if (!total) print "skipped: none"
     }' \
    "$1/Testing/Temporary/LastTest.log" | sort
