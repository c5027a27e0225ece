#!/bin/sh
# The work of flow.yaml.
set -eu
squares=output/squares
case $1 in
fetch)
  mkdir -p "$squares"
  seq 1 100 > "$squares/numbers.txt"
  ;;
work)
  shift
  # A batch may run twice. Its file has the number of its first item, so that nothing is there twice.
  for item; do echo "$((item * item))"; done > "$squares/$1.part"
  ;;
report)
  cat "$squares"/*.part | awk '{ sum += $1 } END { print sum }' > "$squares/sum.txt"
  cat "$squares/sum.txt"
  ;;
tidy) rm -f "$squares"/*.part "$squares/numbers.txt" ;;
esac
