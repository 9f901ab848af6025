#!/bin/sh
# Installs BUILD into a folder of its own and moves that: the program finds what belongs to it.
# usage: install_test.sh CMAKE BUILD
set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" --install "$2" --prefix "$folder/first" >"$folder/log"
mv "$folder/first" "$folder/moved"
cd "$folder"
moved/bin/poprun --help | grep -q '^usage: .*poprun \[options\] program'
# A configuration that only the installed folder has.
sed -n '/^resnet8_test:/,/^$/p' moved/share/cnntrain/configs/resnet.yml | sed 's/^resnet8_test:/installed_only:/' \
    >> moved/share/cnntrain/configs/resnet.yml
moved/bin/cnntrain train --config installed_only --dry-run --data-dir /no/such/folder | grep -q 'resnet 8'
test -f moved/share/cnntrain/configs/benchmarks.yml
for file in doc/cnntrain/copyright bash-completion/completions/cnntrain bash-completion/completions/poprun \
    fish/vendor_completions.d/cnntrain.fish zsh/site-functions/_cnntrain; do
    test -s "moved/share/$file"
done
ls moved/share/man/man1 | grep -q '^cnntrain-train\.1'
ls moved/share/man/man1 | grep -q '^poprun\.1'
