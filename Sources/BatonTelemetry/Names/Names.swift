/// Every name that Baton's spans, metrics and log lines use. Dashboards and alerts depend on these names, so a name is
/// never changed, only retired. Names that begin with `baton.` or `baton_` are Baton's own; most others are
/// OpenTelemetry's semantic conventions (https://opentelemetry.io/docs/specs/semconv).
package enum Names {
  /// The instrumentation scope of every span and metric.
  package static let scope = "baton"

  /// The kinds of spans. The full name of a span is the kind followed by the definition, such as `launch
  /// nightly-index`. It contains nothing else; ids are attributes.
  package enum Span: String, Hashable, Sendable, CaseIterable {
    /// A request was accepted. It is a child of the submitter's span if the submission carried a trace context.
    case submit
    /// The time from when a request became ready until a launch started. A request has one `wait` span for each of its
    /// waits.
    case wait
    /// A launch, from its assignment to its outcome. It is linked to the launch that it resumes.
    case launch
    /// The run of the handler in the worker; a child of `launch`.
    case run
    /// One batch; a child of `launch`. Batches are sampled.
    case batch
    /// An expiry: the time from the order to stop until the host was free.
    case expire
    /// The end of the request.
    case complete
    /// A transfer of the request, from its host's order to its end. The launch that its end started is linked to it.
    case transfer

    /// The full name of the span for one definition.
    package func name(of definition: String) -> String { "\(rawValue) \(definition)" }

    /// A request is produced when it is submitted and consumed when it is launched, and a transfer is a client of its
    /// server; all other spans are internal.
    package var kind: SpanKind {
      switch self {
      case .submit: .producer
      case .launch: .consumer
      case .transfer: .client
      case .wait, .run, .batch, .expire, .complete: .internal
      }
    }
  }

  /// Keys of the attributes of spans, events and links.
  package enum Attribute {
    /// The identifier that the definition declares, with its wildcard if it has one.
    package static let definition = "baton.definition"
    /// The job identifier of the request.
    package static let identifier = "baton.identifier"
    /// `refresh`, `processing` or `continued`.
    package static let kind = "baton.kind"
    /// The number of the request within its identifier, as `baton show` accepts it.
    package static let request = "baton.request"
    /// The state in which the request ended.
    package static let requestState = "baton.request.state"
    /// The number of the launch within its request, from 1.
    package static let launch = "baton.launch.number"
    /// The number of launches that the request had when it ended.
    package static let launches = "baton.launches"
    /// The number of the batch with which the launch began. Earlier launches committed the batches before it.
    package static let firstBatch = "baton.launch.first_batch"
    /// The number of the shard, from 0, that the launch worked on; only for a request that was divided.
    package static let shard = "baton.shard"
    /// How many shards the request was cut into; only for a request that was divided.
    package static let shards = "baton.request.shards"
    /// The number of batches that the launch committed.
    package static let batches = "baton.launch.batches"
    /// True on a launch that `baton simulate` started.
    package static let simulated = "baton.launch.simulated"
    /// How the launch ended: `finished`, `failed`, `expired`, `lost`.
    package static let launchOutcome = "baton.launch.outcome"
    /// Why the launch was asked to stop: the code of an `ExpiryReason`.
    package static let expiryReason = "baton.expiry.reason"
    /// The principal that cancelled the request, or the reason that `baton simulate` simulated.
    package static let expiryDetail = "baton.expiry.detail"
    /// The time that the launch had to stop, in seconds from the order to stop.
    package static let expiryDeadline = "baton.expiry.deadline"
    /// Whether the launch ended by itself before its deadline.
    package static let expiryGraceful = "baton.expiry.graceful"
    /// The name of the host.
    package static let host = "baton.host"
    /// The number of the batch, from 0.
    package static let batch = "baton.batch.number"
    /// True on the first batch of a launch that resumes a request: the launch before may have begun this batch.
    package static let batchRepeated = "baton.batch.repeated"
    /// Why a batch was sampled: `first`, `last`, `slow`, `failed`, `repeated`, `parent` or `drawn`.
    package static let batchSample = "baton.batch.sample"
    /// The size of the checkpoint that the batch committed, in bytes.
    package static let checkpointBytes = "baton.checkpoint.bytes"
    /// The code of the `Obstacle` that an event is about.
    package static let obstacle = "baton.obstacle"
    /// On the event that an obstacle came: some of the hosts on which it kept the request from starting, of the hosts
    /// that could have taken the request otherwise.
    package static let obstacleHosts = "baton.obstacle.hosts"
    /// On the event that an obstacle came: the number of these hosts, including the named ones.
    package static let obstacleHostCount = "baton.obstacle.host_count"
    /// The ids of the pokes that the request stands for. The attribute is on the request's first launch, or on its end
    /// if it had no launch.
    package static let pokes = "baton.pokes"
    /// On the same span: the number of pokes and submissions that joined the request before those that are named or
    /// linked.
    package static let joinedDropped = "baton.joined.dropped"
    /// True on a link from a request to the span of a submission or poke that joined it.
    package static let joined = "baton.joined"
    /// On a wait: the obstacle for which the request waited before it became ready, such as `notBefore`.
    package static let heldBy = "baton.wait.held_by"
    /// On an event of the request's history: further information, such as who caused the event.
    package static let detail = "baton.detail"
    /// True on a wait whose obstacles were lost in a restart of the coordinator.
    package static let historyLost = "baton.wait.history_lost"
    /// The number of the transfer within its request, from 0.
    package static let transfer = "baton.transfer.number"
    /// The group of the transfer. When the last transfer of a group has ended, a launch is told of all of them.
    package static let transferGroup = "baton.transfer.group"
    /// How the transfer ended: `done`, `failed`, `cancelled`.
    package static let transferOutcome = "baton.transfer.outcome"
    /// How many bytes of the file had arrived, or had been sent, when the transfer ended.
    package static let transferBytes = "baton.transfer.bytes"
    /// At which byte the last attempt went on; 0 if it began at the beginning.
    package static let transferResumedFrom = "baton.transfer.resumed_from"
    /// How many times a connection was asked for the file.
    package static let transferAttempts = "baton.transfer.attempts"
    /// `GET`, `PUT` or `POST` (semantic conventions).
    package static let httpMethod = "http.request.method"
    /// The last status of the server; absent if no server has answered (semantic conventions).
    package static let httpStatus = "http.response.status_code"
    /// The name of the server in the transfer's address (semantic conventions). The path and the query of the address
    /// are not told, because they may contain a signature.
    package static let server = "server.address"
    /// The type of the error, on a span whose status is an error (semantic conventions).
    package static let errorType = "error.type"
    /// The type of a recorded error, on the event `exception` (semantic conventions).
    package static let exceptionType = "exception.type"
    /// The message of a recorded error (semantic conventions).
    package static let exceptionMessage = "exception.message"
  }

  /// Names of events within spans. The events of a request's history have the names that `baton show` prints, with the
  /// prefix `baton.`: `baton.replaced`, `baton.poked`, `baton.ignoredExpiry` and so on.
  package enum Event {
    /// The name of an event in the history of a request.
    package static func history(_ name: String) -> String { "baton.\(name)" }

    /// From now on an obstacle keeps the request from starting.
    package static let obstacleCame = "baton.obstacle.came"
    /// The obstacle no longer keeps the request from starting.
    package static let obstacleWent = "baton.obstacle.went"
    /// An error was recorded (semantic conventions).
    package static let exception = "exception"
  }

  /// Keys of the resource's attributes, which describe the process and are sent once per export request.
  package enum Resource {
    /// `baton-coordinator`, `baton-worker`, or `baton` if both run in one process.
    package static let serviceName = "service.name"
    /// The version of this build.
    package static let serviceVersion = "service.version"
    /// An id that is unique to one run of the process.
    package static let serviceInstance = "service.instance.id"
    /// The name of the machine.
    package static let hostName = "host.name"
    /// `linux` or `darwin`.
    package static let system = "os.type"
    /// The process id.
    package static let process = "process.pid"
    /// Of a coordinator: the number and the hash of the last row of its audit log when it sent the spans, as
    /// `baton audit verify --head` takes them.
    package static let auditHead = "baton.audit.head"
  }

  /// Names of metrics, as `/metrics` shows them. OTLP sends the same names.
  package enum Metric {
    /// The number of requests by `definition` and `state`; a gauge.
    package static let requests = "baton_requests"
    /// How long the request that has been ready longest has waited; a gauge.
    package static let readyOldest = "baton_ready_oldest_seconds"
    /// The number of requests that each `reason` keeps from starting now; a gauge.
    package static let obstacles = "baton_obstacles"
    /// Launches that ended, by `definition`, `outcome` and `reason`; a counter.
    package static let launches = "baton_launches_total"
    /// How long launches took; a histogram.
    package static let launchDuration = "baton_launch_seconds"
    /// Batches that were committed; a counter.
    package static let batches = "baton_batches_total"
    /// Batches that were run again because their commit was lost; a counter.
    package static let batchesRepeated = "baton_batches_repeated_total"
    /// How long a request whose launch expired or was lost waited for its next launch; a histogram.
    package static let resumeDuration = "baton_resume_seconds"
    /// How long a group commit took; a histogram.
    package static let commitDuration = "baton_commit_seconds"
    /// How many writes were in one group commit; a histogram.
    package static let commitOperations = "baton_commit_operations"
    /// The size of committed checkpoints; a histogram.
    package static let checkpointBytes = "baton_checkpoint_bytes"
    /// The number of hosts by `condition`; a gauge.
    package static let hosts = "baton_hosts"
    /// Whether an operator has paused the fleet; a gauge, 1 or 0.
    package static let fleetPaused = "baton_fleet_paused"
    /// The slots of each `host` that holds a lease; a gauge.
    package static let hostSlots = "baton_host_slots"
    /// The slots that launches hold, by `host`; a gauge.
    package static let hostSlotsUsed = "baton_host_slots_used"
    /// Requests that failed for good, by `definition` and `reason`; a counter.
    package static let requestsFailed = "baton_requests_failed_total"
    /// How long ago a request succeeded last, by `definition`; a gauge.
    package static let lastSuccess = "baton_last_success_seconds"
    /// Submissions that were refused, by `code`; a counter.
    package static let submissionsRefused = "baton_submissions_refused_total"
    /// Transfers that have not ended, by `state`, of the hosts that are connected to this coordinator; a gauge.
    package static let transfers = "baton_transfers"
    /// Transfers that ended, by `outcome`, and by `reason`, the code of a failure; a counter.
    package static let transfersEnded = "baton_transfers_ended_total"
    /// Bytes that hosts had received with transfers when these ended; a counter.
    package static let transferReceived = "baton_transfer_received_bytes_total"
    /// Bytes that hosts had sent with transfers when these ended; a counter.
    package static let transferSent = "baton_transfer_sent_bytes_total"
    /// Notifications in the outbox by `state`: `waiting` or `failed`; a gauge.
    package static let notifications = "baton_notifications"
    /// Notifications that ended, by `outcome`: `sent` or `failed`; a counter.
    package static let notificationsEnded = "baton_notifications_ended_total"
    /// Free space on the file system of the store; a gauge.
    package static let storeFree = "baton_store_free_bytes"
    /// Spans that were dropped, by `reason`, one of the cases of `BatchQueue.Drop`; a counter.
    package static let spansDropped = "baton_spans_dropped_total"
    /// Whether a worker is connected to its coordinator; a gauge, 1 or 0.
    package static let workerConnected = "baton_worker_connected"
    /// Launches that run on a worker now; a gauge.
    package static let workerLaunches = "baton_worker_launches"
    /// Series that a `metric` was refused because it has reached its limit; a counter.
    package static let seriesRefused = "baton_metric_series_refused_total"
    /// Always 1, with the version as its label; a gauge.
    package static let buildInfo = "baton_build_info"

    // Metrics of the process, with the names that every Prometheus client uses:
    // https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
    /// Processor time, user and system.
    package static let processCPU = "process_cpu_seconds_total"
    /// Open file descriptors; a gauge.
    package static let processOpenFiles = "process_open_fds"
    /// The limit of open file descriptors; a gauge.
    package static let processMaximumFiles = "process_max_fds"
    /// Resident memory; a gauge.
    package static let processResidentMemory = "process_resident_memory_bytes"
    /// Size of the address space; a gauge.
    package static let processVirtualMemory = "process_virtual_memory_bytes"
    /// When the process started, in seconds since 1970; a gauge.
    package static let processStart = "process_start_time_seconds"
  }

  /// Names and special values of metric labels. The names `job` and `instance` are not used, because they belong to
  /// Prometheus.
  package enum Label {
    package static let definition = "definition"
    package static let state = "state"
    package static let outcome = "outcome"
    package static let reason = "reason"
    package static let condition = "condition"
    package static let version = "version"
    package static let host = "host"
    /// Apple's code of a refusal.
    package static let code = "code"
    package static let metric = "metric"
    /// The value that stands for everything beyond a limit.
    package static let other = "other"
    /// The value of `reason` for a launch that did not expire, and for a transfer that did not fail.
    package static let none = "none"
    /// The values of `reason` for a request that failed: its work failed, or its launches committed nothing.
    package static let failed = "failed"
    /// The value of `outcome` for a notification that its receiver has taken.
    package static let sent = "sent"
    /// The value of `state` for a notification that its receiver has not taken yet.
    package static let waiting = "waiting"
    package static let quarantined = "quarantined"
  }

  /// Keys of a log line's metadata. An id has the same key in logs and in spans.
  package enum LogKey {
    /// The id of the trace that the line belongs to, 32 hexadecimal digits.
    package static let trace = "trace_id"
    /// The id of the span that the line belongs to, 16 hexadecimal digits.
    package static let span = "span_id"
    /// The identifier of the definition.
    package static let definition = Attribute.definition
    /// The job identifier of the request.
    package static let identifier = Attribute.identifier
    /// The number of the request.
    package static let request = Attribute.request
    /// The number of the launch within its request.
    package static let launch = Attribute.launch
    /// The number of the shard, from 0; only for a request that was divided.
    package static let shard = Attribute.shard
    /// The request's number in the store and the launch's number within the request, such as `9/2`.
    package static let launchKey = "baton.launch.key"
    /// The number of the batch.
    package static let batch = Attribute.batch
    /// The name of the host.
    package static let host = Attribute.host
    /// Why a launch was asked to stop.
    package static let expiryReason = Attribute.expiryReason
    /// The time that the launch has to stop, in seconds from the order to stop.
    package static let expiryDeadline = Attribute.expiryDeadline
    /// Whether the launch ended by itself before its deadline.
    package static let expiryGraceful = Attribute.expiryGraceful
    /// How a launch ended: `finished`, `failed`, `expired`, `lost`.
    package static let launchOutcome = Attribute.launchOutcome
  }
}
