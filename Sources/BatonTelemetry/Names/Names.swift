/// Every name that Baton's spans, metrics and log lines have, in one place; dashboards and alerts are written against
/// them, so a name is never changed, only retired. `baton.*` is ours, the rest is OpenTelemetry's semantic conventions
/// (https://opentelemetry.io/docs/specs/semconv).
package enum Names {
  /// The instrumentation scope of every span and metric.
  package static let scope = "baton"

  /// The spans. Their full names have the definition after them, `launch nightly-index`, and nothing else: ids are
  /// attributes.
  package enum Span: String, Hashable, Sendable, CaseIterable {
    /// A request is accepted; child of the submitter's context where there is one.
    case submit
    /// From ready to launch, one per wait.
    case wait
    /// From assignment to outcome; linked to the launch that it resumes.
    case launch
    /// The handler in the worker, child of the launch.
    case run
    /// One batch, child of the launch; sampled.
    case batch
    /// From asking to stop to the host being free.
    case expire
    /// The end of the request.
    case complete

    /// The span's name for one definition.
    package func name(of definition: String) -> String { "\(rawValue) \(definition)" }

    /// A request is produced when it is submitted and consumed when it is launched; the rest is internal.
    package var kind: SpanKind {
      switch self {
      case .submit: .producer
      case .launch: .consumer
      case .wait, .run, .batch, .expire, .complete: .internal
      }
    }
  }

  /// Attributes of spans, their events and links.
  package enum Attribute {
    /// The identifier of the definition, with its wildcard if it has one.
    package static let definition = "baton.definition"
    /// The job identifier of the request.
    package static let identifier = "baton.identifier"
    /// `refresh`, `processing` or `continued`.
    package static let kind = "baton.kind"
    /// The number of the request, as `baton show` takes it.
    package static let request = "baton.request"
    /// The state in which the request ended.
    package static let requestState = "baton.request.state"
    /// The number of the launch within its request, from 1.
    package static let launch = "baton.launch.number"
    /// Launches that the request had when it ended.
    package static let launches = "baton.launches"
    /// The batch that the launch began with; those before it were committed by earlier launches.
    package static let firstBatch = "baton.launch.first_batch"
    /// How many batches the launch committed.
    package static let batches = "baton.launch.batches"
    /// On a launch that `baton simulate` started: true.
    package static let simulated = "baton.launch.simulated"
    /// How the launch ended: `finished`, `failed`, `expired`, `lost`.
    package static let launchOutcome = "baton.launch.outcome"
    /// Why the launch was asked to stop: the code of an `ExpiryReason`.
    package static let expiryReason = "baton.expiry.reason"
    /// Who cancelled, or what was simulated.
    package static let expiryDetail = "baton.expiry.detail"
    /// Until when the launch had to be gone, as seconds from being asked.
    package static let expiryDeadline = "baton.expiry.deadline"
    /// Whether the launch ended by itself before its deadline.
    package static let expiryGraceful = "baton.expiry.graceful"
    /// The name of the host.
    package static let host = "baton.host"
    /// The number of the batch, from 0.
    package static let batch = "baton.batch.number"
    /// True on the first batch of a launch that resumes: the one before may have begun it.
    package static let batchRepeated = "baton.batch.repeated"
    /// Why a sampled batch is there: `first`, `last`, `slow`, `failed`, `repeated`, `parent` or `drawn`.
    package static let batchSample = "baton.batch.sample"
    /// The size of the checkpoint that the batch committed, in bytes.
    package static let checkpointBytes = "baton.checkpoint.bytes"
    /// The obstacle of the event, the code of an `Obstacle`.
    package static let obstacle = "baton.obstacle"
    /// On an obstacle that came: some of the hosts that it kept the request from, of those that could have taken it.
    package static let obstacleHosts = "baton.obstacle.hosts"
    /// On an obstacle that came: how many hosts that were, the named ones included.
    package static let obstacleHostCount = "baton.obstacle.host_count"
    /// On a request's first launch, or its end if there was none: the ids of the pokes that it stands for.
    package static let pokes = "baton.pokes"
    /// Beside them: how many pokes and submissions joined the request before those that are named or linked.
    package static let joinedDropped = "baton.joined.dropped"
    /// On a link from a request to the span of a submission or poke that joined it: true.
    package static let joined = "baton.joined"
    /// On a wait: the obstacle that the request had waited for before it became ready, such as `notBefore`.
    package static let heldBy = "baton.wait.held_by"
    /// On an event of the request's history: what it says besides its name.
    package static let detail = "baton.detail"
    /// On a wait whose obstacles were lost with a restart: true.
    package static let historyLost = "baton.wait.history_lost"
    /// What failed, on a span whose status is an error (semantic conventions).
    package static let errorType = "error.type"
    /// The type of a recorded error, on the event `exception` (semantic conventions).
    package static let exceptionType = "exception.type"
    /// What a recorded error says of itself (semantic conventions).
    package static let exceptionMessage = "exception.message"
  }

  /// Events within spans. Those of a request's history have the names that `baton show` prints, with `baton.` before
  /// them: `baton.replaced`, `baton.poked`, `baton.ignoredExpiry` and so on.
  package enum Event {
    /// Of an event in the history of a request.
    package static func history(_ name: String) -> String { "baton.\(name)" }

    /// An obstacle kept the request from starting from now on.
    package static let obstacleCame = "baton.obstacle.came"
    /// It does so no longer.
    package static let obstacleWent = "baton.obstacle.went"
    /// Something was thrown (semantic conventions).
    package static let exception = "exception"
  }

  /// Attributes of the resource: of the process, once per request.
  package enum Resource {
    /// `baton-coordinator`, `baton-worker`, or `baton` for both in one process.
    package static let serviceName = "service.name"
    /// The version of this build.
    package static let serviceVersion = "service.version"
    /// Unique to one run of the process.
    package static let serviceInstance = "service.instance.id"
    /// The name of the machine.
    package static let hostName = "host.name"
    /// `linux` or `darwin`.
    package static let system = "os.type"
    /// The process's number.
    package static let process = "process.pid"
  }

  /// Metrics, as `/metrics` shows them; OTLP sends the same names.
  package enum Metric {
    /// Requests by `definition` and `state`; a gauge.
    package static let requests = "baton_requests"
    /// For how long the oldest ready request has waited; a gauge.
    package static let readyOldest = "baton_ready_oldest_seconds"
    /// Requests that each `reason` keeps from starting now; a gauge.
    package static let obstacles = "baton_obstacles"
    /// Launches that ended, by `definition`, `outcome` and `reason`.
    package static let launches = "baton_launches_total"
    /// How long launches took; a histogram.
    package static let launchDuration = "baton_launch_seconds"
    /// Batches that were committed.
    package static let batches = "baton_batches_total"
    /// Batches that were done again after a commit was lost.
    package static let batchesRepeated = "baton_batches_repeated_total"
    /// From expiry to running elsewhere; a histogram.
    package static let resumeDuration = "baton_resume_seconds"
    /// How long a group commit took; a histogram.
    package static let commitDuration = "baton_commit_seconds"
    /// How many writes one group commit took; a histogram.
    package static let commitOperations = "baton_commit_operations"
    /// The size of committed checkpoints; a histogram.
    package static let checkpointBytes = "baton_checkpoint_bytes"
    /// Hosts by `condition`; a gauge.
    package static let hosts = "baton_hosts"
    /// Spans that were not sent and will not be, by `reason`: the cases of `BatchQueue.Drop`.
    package static let spansDropped = "baton_spans_dropped_total"
    /// Whether a worker is connected to its coordinator; a gauge, 1 or 0.
    package static let workerConnected = "baton_worker_connected"
    /// Launches that run on a worker now; a gauge.
    package static let workerLaunches = "baton_worker_launches"
    /// Series that a `metric` was refused because it has as many as it may.
    package static let seriesRefused = "baton_metric_series_refused_total"
    /// 1, with the version as its label.
    package static let buildInfo = "baton_build_info"

    // Of the process, as every Prometheus client names them:
    // https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
    /// Processor time, user and system.
    package static let processCPU = "process_cpu_seconds_total"
    /// Open file descriptors; a gauge.
    package static let processOpenFiles = "process_open_fds"
    /// How many there may be; a gauge.
    package static let processMaximumFiles = "process_max_fds"
    /// Memory in use; a gauge.
    package static let processResidentMemory = "process_resident_memory_bytes"
    /// Address space; a gauge.
    package static let processVirtualMemory = "process_virtual_memory_bytes"
    /// When the process started, since 1970.
    package static let processStart = "process_start_time_seconds"
  }

  /// Labels of metrics; never `job` or `instance`, which are Prometheus's own.
  package enum Label {
    package static let definition = "definition"
    package static let state = "state"
    package static let outcome = "outcome"
    package static let reason = "reason"
    package static let condition = "condition"
    package static let version = "version"
    package static let metric = "metric"
    /// The value that stands for all that are beyond a limit.
    package static let other = "other"
    /// The value of `reason` where there is none.
    package static let none = "none"
  }

  /// Keys of a log line's metadata. An id has the same key in the log as in a span.
  package enum LogKey {
    /// The trace that the line belongs to, 32 digits.
    package static let trace = "trace_id"
    /// The span that the line belongs to, 16 digits.
    package static let span = "span_id"
    /// The identifier of the definition.
    package static let definition = Attribute.definition
    /// The job identifier of the request.
    package static let identifier = Attribute.identifier
    /// The number of the request.
    package static let request = Attribute.request
    /// The number of the launch within its request.
    package static let launch = Attribute.launch
    /// The store's number of the request, and the launch's within it: `9/2`.
    package static let launchKey = "baton.launch.key"
    /// The number of the batch.
    package static let batch = Attribute.batch
    /// The name of the host.
    package static let host = Attribute.host
    /// Why a launch was asked to stop.
    package static let expiryReason = Attribute.expiryReason
    /// Until when it has to be gone, as seconds from being asked.
    package static let expiryDeadline = Attribute.expiryDeadline
    /// Whether it ended by itself before its deadline.
    package static let expiryGraceful = Attribute.expiryGraceful
    /// How a launch ended: `finished`, `failed`, `expired`, `lost`.
    package static let launchOutcome = Attribute.launchOutcome
  }
}
