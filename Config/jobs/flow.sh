#!/bin/sh
# The work of flow.yaml and nightly.yaml.
set -eu
squares=output/squares
case $1 in
fetch)
  mkdir -p "$squares"
  seq 1 100 > "$squares/numbers.txt"
  # The result, for the jobs that come after this one.
  printf '{"result": {"numbers": %d}}\n' "$(wc -l < "$squares/numbers.txt")" >&"$BATON_PROGRESS_FD"
  ;;
work)
  shift
  # A batch may run twice. Its file has the number of its first item, so that nothing is there twice.
  for item; do echo "$((item * item))"; done > "$squares/$1.part"
  ;;
report)
  cat "$squares"/*.part | awk '{ sum += $1 } END { print sum }' > "$squares/sum.txt"
  # What "fetch" has given: in flow.yaml it comes before this job, and in nightly.yaml its success has submitted this
  # job. A program that reads JSON would do this better.
  numbers=$(cat "$BATON_INPUTS_FILE" "${BATON_PAYLOAD_FILE:-/dev/null}" | sed -n 's/.*"numbers": *\([0-9]*\).*/\1/p')
  [ "$(cat "$squares"/*.part | wc -l)" -eq "$numbers" ] || { echo "there are not $numbers squares"; exit 1; }
  printf '{"result": {"sum": %d}}\n' "$(cat "$squares/sum.txt")" >&"$BATON_PROGRESS_FD"
  cat "$squares/sum.txt"
  ;;
tidy) rm -f "$squares"/*.part "$squares/numbers.txt" ;;
esac
