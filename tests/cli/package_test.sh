#!/bin/sh
# Makes the Debian package of BUILD and looks at it: package_test.sh CPACK BUILD SOURCE [fresh]
# The package is also installed, used and removed in a fresh system of this one's suite if "fresh" is given.
set -e
skip() { echo "skipped: $1" && exit 77; }
command -v dpkg-shlibdeps > /dev/null || skip "needs dpkg-shlibdeps (dpkg-dev)"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" --config "$2/CPackConfig.cmake" -B "$folder" > "$folder/log" 2>&1 || { cat "$folder/log" >&2 && exit 1; }
package=$(ls "$folder"/cnntrain_*.deb)

# Its dependencies are the packages of the libraries that the program loads, or names that these provide, and no more.
dpkg-deb -f "$package" Depends | tr ',' '\n' | sed 's/ *(.*//; s/^ *//' > "$folder/depends"
dpkg-deb -x "$package" "$folder/tree"
objdump -p "$folder/tree/usr/bin/cnntrain" | sed -n 's/^ *NEEDED *//p' | while read -r library; do
    path=$(readlink -f "$(ldconfig -p | sed -n "s|^[[:space:]]*$library .*=> ||p" | head -1)")
    owner=$({ dpkg -S "$path" || dpkg -S "${path#/usr}"; } 2> /dev/null | cut -d: -f1)
    dpkg-query -W -f '${Package} ${Provides}\n' "$owner" | sed 's/([^)]*)//g; s/,/ /g'
done | sort -u > "$folder/needed"
awk 'NR == FNR { depends[$1]; next }
     { found = 0
       for (i = 1; i <= NF; ++i) if ($i in depends) { found = 1; met[$i] }
       if (!found) { print "the package does not depend on " $1; failed = 1 } }
     END { for (name in depends) if (!(name in met)) { print "the package depends without need on " name; failed = 1 }
           exit failed }' "$folder/depends" "$folder/needed" >&2
for file in bin/cnntrain bin/poprun share/man/man1/cnntrain.1.gz share/man/man1/poprun.1.gz \
    share/man/man7/cnntrain-topics.7.gz share/doc/cnntrain/copyright share/doc/cnntrain/changelog.gz \
    share/cnntrain/configs/resnet.yml; do
    [ -e "$folder/tree/usr/$file" ] || { echo "the package lacks usr/$file" >&2 && exit 1; }
done
if [ "$4" = fresh ]; then
    . /etc/os-release
    "$3/tools/fresh_debian.sh" --package "$package" "$VERSION_CODENAME"
elif command -v lintian > /dev/null; then
    lintian --fail-on error "$package"
else
    skip "needs lintian"
fi
