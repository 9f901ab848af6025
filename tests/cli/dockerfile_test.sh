#!/bin/sh
# tools/Dockerfile builds with README.md's two commands: dockerfile_test.sh SOURCE
set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
sed -n '/^tools\/install_packages.sh/p' "$1/README.md" > "$folder/readme"
# Instructions in one line each, without comments.
sed -e '/^#/d' -e ':join' -e '/\\$/{' -e 'N' -e 's/ *\\\n */ /' -e 'b join' -e '}' \
    "$1/tools/Dockerfile" > "$folder/lines"
sed -n 's/^RUN \(tools\/install_packages.sh .*cmake .*\)/\1/p' "$folder/lines" > "$folder/docker"
diff "$folder/readme" "$folder/docker"
[ "$(wc -l < "$folder/readme")" -eq 2 ]
unknown=$(grep -v -E '^(ARG|FROM|WORKDIR|COPY|RUN|USER|ENTRYPOINT) |^$' "$folder/lines" || true)
[ -z "$unknown" ] || { echo "not an instruction: $unknown" >&2 && exit 1; }
[ "$(grep -c '^FROM debian:${SUITE}' "$folder/lines")" -eq 2 ]
