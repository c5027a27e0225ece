# Sourced by the fault scripts that look at spans (bash), after common.sh: a sink, and what the database says. Needs python3.

TOOLS=$ROOT/Scripts/faults
SINK=''

# begin_spans: nothing of whoever runs this, and exports that are soon struck.
begin_spans() {
  local name
  command -v python3 >/dev/null || die "python3 is missing"
  for name in "${!OTEL_@}"; do unset "$name"; done
  export OTEL_BSP_SCHEDULE_DELAY=200 OTEL_EXPORTER_OTLP_TIMEOUT=1000
  export OTEL_EXPORTER_OTLP_COMPRESSION=gzip OTEL_METRICS_EXPORTER=none
}

# reset: no process is left, and no data.
reset() {
  local host
  kill_sink
  for host in "${!WORKERS[@]}"; do kill_host "$host"; rm -rf "${WORK:?}/$host"; done
  [[ -z $COORDINATOR ]] || dead "$COORDINATOR" || kill_coordinator
  rm -rf "$WORK/coordinator" "$WORK"/spans*
  PORT=0 SINK_PORT=0
}

# start_sink ANSWERS: on a free port the first time, then on the same port and the same journal.
start_sink() {
  rm -f "$WORK/spans.port"
  "$TOOLS/sink.py" "$WORK/spans" "$SINK_PORT" "$1" 2>>"$WORK/sink.log" &
  SINK=$!
  RUN=$SINK  # Ends with this script.
  disown
  until_true 20 test -f "$WORK/spans.port" || die "the sink does not start: $(tail -n 3 "$WORK/sink.log")"
  SINK_PORT=$(<"$WORK/spans.port")
  export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$SINK_PORT
}

kill_sink() {
  [[ -n $SINK ]] || return 0
  kill -KILL "$SINK" 2>/dev/null || true
  until_true 5 dead "$SINK"
  SINK='' RUN=''
}

# query SQL: of the coordinator's database, while it runs or not.
query() { "$TOOLS/spans.py" query "$WORK/coordinator/baton.sqlite" "$1"; }

unsent() { query 'SELECT count(*) FROM unsent_span'; }

nothing_unsent() { [[ $(unsent) == 0 ]]; }

nothing_unfinished() { [[ $(query 'SELECT count(*) FROM request WHERE state < 3') == 0 ]]; }

# answers TEXT: how often the sink gave such an answer.
answers() { grep -c "^$1" "$WORK/spans.answers" 2>/dev/null || true; }

submitted() { baton submit -f "$WORK/jobs.yaml" >/dev/null 2>>"$WORK/submit.log"; }

# compare_spans [PRINTED]: what came, with what the database says must come and what `baton trace` printed; TWICE is how
# many spans came more than once.
compare_spans() {
  local line
  while IFS= read -r line; do
    case $line in
      =*) note "round $ROUND: ${line#= }" && TWICE=${line##*twice=} ;;
      *) violation "$line" ;;
    esac
  done < <("$TOOLS/spans.py" check "$WORK/spans" "$WORK/coordinator/baton.sqlite" --queue "$@" || true)
}
