#!/bin/sh
# Compares what commands print with tests/lines/*.t, in the form of cram: run.sh PROGRAM [--accept] [FILE.t ...]
# FILE.t is named from the top folder. --accept writes what is printed now into the files, to be reviewed as a diff.
# Exits with 80 without cram.
set -e
here=$(cd "$(dirname "$0")" && pwd)
program=${1:?usage: run.sh PROGRAM [--accept] [FILE.t ...]}
shift
CNNTRAIN_PROGRAM=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
CNNTRAIN_SOURCE=$(dirname "$(dirname "$here")")
export CNNTRAIN_PROGRAM CNNTRAIN_SOURCE
accept=
if [ "$1" = --accept ]; then
    accept="--interactive --yes"
    shift
fi
command -v cram3 > /dev/null || { echo "skipped: no cram3; tools/install_packages.sh tests brings it" && exit 80; }
cd "$CNNTRAIN_SOURCE"  # cram's diffs name files from here, and patch finds them
[ $# -gt 0 ] || set -- tests/lines/*.t
result=0
cram3 --preserve-env $accept "$@" || result=$?
[ -z "$accept" ] || result=0
exit $result
