#!/bin/sh
# One batch of compress.yaml: a gzip copy of each file named as an argument, below $OUTPUT.
set -eu
for file; do
  copy=$OUTPUT$file.gz
  case $file in *.gz) continue ;; esac
  [ -r "$file" ] || { echo "cannot be read: $file"; continue; }
  mkdir -p "${copy%/*}"
  gzip -9 -n -c -- "$file" > "$copy.$BATON_LAUNCH.part"
  mv -- "$copy.$BATON_LAUNCH.part" "$copy"
done
