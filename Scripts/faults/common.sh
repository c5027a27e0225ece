# Sourced by the fault scripts (bash), after support.sh: jobs whose batches write a log outside of Baton, and the count
# of what went wrong.

ROUND=0
LANDED=0
VIOLATIONS=0
KINDS=()

# options "$@": ROUNDS and SEED; RANDOM follows the seed, so that the same seed makes the same choices.
options() {
  ROUNDS=${1:-$ROUNDS}
  SEED=${2:-1}
  [[ $ROUNDS =~ ^[1-9][0-9]*$ && $SEED =~ ^[0-9]+$ ]] || die "usage: ${0##*/} [ROUNDS [SEED]]"
  RANDOM=$((SEED % 32768))
  # Results are kept: one file for each script and seed.
  mkdir -p "$ROOT/results"
  RESULTS=$ROOT/results/${0##*/}-$SEED.txt
  : >"$RESULTS"
}

# random FROM TO
random() { echo $(($1 + RANDOM % ($2 - $1 + 1))); }

note() { printf '%s\n' "$*" >>"$RESULTS"; }

violation() {
  VIOLATIONS=$((VIOLATIONS + 1))
  printf 'round %d: %s\n' "$ROUND" "$*" | tee -a "$RESULTS" >&2
}

# landed KIND: a fault hit a launch that was running.
landed() {
  LANDED=$((LANDED + 1))
  KINDS+=("$1")
}

# write_job FILE IDENTIFIER LOG ITEMS BATCH_SIZE PAUSE
write_job() {
  cat >"$1" <<YAML
identifier: $2
kind: continued
title: Faults
retry: {limit: 0}
work:
  command: [$ROOT/Scripts/faults/append-batch, $3, "$6"]
  directory: $WORK
  items: {range: 1...$4}
  batchSize: $5
YAML
}

# check_log LOG ITEMS ALLOWED: every item is there; at most ALLOWED batches were run again; none twice by one launch.
check_log() {
  local problem
  while IFS= read -r problem; do violation "$problem"; done < <(
    awk -v items="$2" -v allowed="$3" '
      {
        if (ran[$1 " " $2]++) print "launch " $1 " ran batch " $2 " twice"
        if (times[$2]++) repeats++
        for (i = 3; i <= NF; i++) seen[$i] = 1
      }
      END {
        for (i = 1; i <= items; i++) if (!(i in seen)) lost++
        if (lost) print lost " items lost"
        if (repeats > allowed) print repeats " batches were run again, where " allowed " may be"
      }' "$1"
  )
}

repeats_in() { awk '{ if (times[$2]++) n++ } END { print n + 0 }' "$1"; }

# check_store IDENTIFIER BATCHES: succeeded, and its launches committed every batch exactly once.
check_store() {
  local problem
  baton show "$1" -o json >"$WORK/show.json" || violation "baton show $1 fails"
  [[ $(field state <"$WORK/show.json") == succeeded ]] ||
    violation "$1 is $(field state <"$WORK/show.json"): $(field reason <"$WORK/show.json")"
  while IFS= read -r problem; do violation "$problem"; done < <(launches <"$WORK/show.json" | partition "$2")
}

# state_of IDENTIFIER
state_of() { baton show "$1" -o json 2>/dev/null | field state; }

lines_in() { [[ -f $1 ]] && wc -l <"$1" || echo 0; }

has_lines() { (($(lines_in "$1") >= $2)); }

# finish: the row, and a status that says whether all is well.
finish() {
  local kinds
  kinds=$(printf '%s\n' "${KINDS[@]}" | sort | uniq -c | awk '{ printf "%s%s %d", (NR > 1 ? ", " : ""), $2, $1 }')
  printf '%s: %d rounds, %d faults landed, %d violations (%s; seed %d)\n' \
    "${0##*/}" "$ROUND" "$LANDED" "$VIOLATIONS" "$kinds" "$SEED" | tee -a "$RESULTS"
  ((VIOLATIONS == 0)) || exit 1
  ((LANDED >= ROUND)) || die "a fault did not land"
}
