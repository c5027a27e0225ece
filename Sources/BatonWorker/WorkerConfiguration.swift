public import BatonHost
public import BatonModel
internal import BatonTelemetry
internal import Tracing

/// The settings of a `Worker`. The defaults are for a worker on the same machine as its coordinator.
///
/// ```swift
/// var configuration = WorkerConfiguration(name: "desk", dataFolder: "/var/lib/my-worker", slots: 2)
/// configuration.conditions.labels = ["zone": "garage"]
/// configuration.hours = try LendingHours(["22:00-07:00", "Sat,Sun 00:00-24:00"])
/// configuration.cpuLimit = CPUQuota(percent: 150)
/// configuration.conditions.thermal.seriousMargin = 15
/// ```
///
/// The sample is from `Examples/Worker/Samples.swift`. These are the settings of worker.yaml that concern the worker
/// itself; `WorkerProgram` of BatonWorkerProgram reads them from that file, and has the others, which concern the
/// process: transfers, servers and logs.
///
/// `Worker.run()` checks the settings. It throws `WorkerError` with a message that says what is wrong.
public struct WorkerConfiguration: Sendable {
  /// The address of the coordinator, `HOST:PORT`; by default `127.0.0.1:7420`. Only loopback addresses are accepted
  /// (promise P14).
  ///
  /// Several addresses are separated by commas; at most 16 are accepted. They are for coordinators that share a store.
  /// The worker is connected to one coordinator at a time. When that coordinator has not answered for half of the
  /// lease's term, the worker goes to another address, and its launches go on meanwhile.
  public var coordinator: String
  /// The name of this host in the fleet: 1 to 63 ASCII letters, digits, `.`, `_` and `-`, of which the first is a
  /// letter or a digit. Each worker needs a name of its own. The first worker that uses a name owns it, by a secret in
  /// its data folder; others are refused until `baton hosts --forget NAME`.
  public var name: String
  /// The folder for the worker's own files. It is created if it is missing. Only one worker may use it at a time. Keep
  /// it over restarts, because it has the secret that the name belongs to.
  public var dataFolder: String
  /// The number of slots of this host. Each launch holds the number of slots that its definition requires, by default
  /// 1, and launches start as long as slots are free.
  public var slots: Int
  /// The kinds of jobs that this worker takes; by default all.
  public var accepts: Set<JobKind>
  /// The identifiers that may run on this worker; empty means all. The coordinator assigns no other launches to it.
  public var permittedIdentifiers: [IdentifierPattern]
  /// The launch time that all launches on this host together may use in a day; `nil` means no limit. When it is used
  /// up, the running launches expire with the reason `allowanceSpent`, and launches start again on the next day (UTC,
  /// by a clock that does not step).
  public var dailyAllowance: Duration?
  /// Whether this worker runs definitions that have `work`, which are commands; by default `true`. Set it to `false`
  /// for a program that has only handlers in Swift.
  public var runsCommands: Bool
  /// The file with the coordinator's token. `nil` finds the token of a coordinator of the same user on this machine.
  public var tokenFile: String?
  /// The file with the token that `/metrics` asks for. `nil` takes `metrics-token` in the data folder, which is made.
  public var metricsTokenFile: String?
  /// Whether the process ends when a Swift handler still runs at the deadline of its expiry; by default `false`.
  ///
  /// Handlers share the process, so nothing else can free the host. If it is `true`, the process ends within a second
  /// of the deadline, with exit status 86. The other launches in the process are lost, which does not count against
  /// them: they go on from their last checkpoint and repeat one batch at most. Start the program under a supervisor
  /// that starts it again, for example systemd with `Restart=always`.
  ///
  /// If it is `false`, a handler that ignores its cancellation holds its slots until it returns.
  public var endsProcessOnOverrun: Bool
  /// Whether the worker reads the host's power, battery, temperature, network, use and GPUs, and stops the launches
  /// that these conditions forbid; by default `true`.
  ///
  /// If it is `false`, the worker reports external power, an unmetered network and no GPU for as long as it runs, and
  /// it does not know whether the host is idle.
  public var probesHost: Bool
  /// How the host's conditions are read and weighed, and the host's labels.
  public var conditions = ConditionSettings()
  /// The hours of the day in which the host's owner lends the host; by default always. Outside of them running launches
  /// expire with the reason `outsideHours`.
  public var hours = LendingHours.always
  /// The share of the processors that all commands without `requiresExternalPower` may use together; `nil`, the
  /// default, means no limit. Handlers are not bounded.
  public var cpuLimit: CPUQuota?
  /// How commands are confined.
  public var sandbox = SandboxSettings()
  /// Which batches of a traced request are sent as spans.
  public var batchSampling = BatchSampling()
  /// Whether the worker listens for `baton-worker pause`, `resume` and `status`; by default `false`. A `WorkerProgram`
  /// sets it to `true`. Without `probesHost` nothing listens.
  public var answersOwner = false
  /// The path of the socket for these commands. `nil`, the default, means the usual place, where the commands look:
  /// `$RUNTIME_DIRECTORY/worker.sock`, else `$XDG_RUNTIME_DIR/baton/worker-NAME.sock`, else
  /// `/tmp/baton-UID/worker-NAME.sock`.
  public var ownerSocket: String?
  /// Whether the process belongs to this worker alone; by default `false`. A `WorkerProgram` sets it to `true`.
  ///
  /// If it is `true`, processes that commands leave behind become children of this process, and the worker kills every
  /// child that is not a command. So it must be `false` in a program whose handlers start processes themselves. Then a
  /// process that has left the session of its command goes on after the launch, unless the worker has control groups
  /// (Linux).
  public var ownsProcess = false
  /// Sends the spans and metrics that have not been sent yet, and does not wait for the backend. It is called before
  /// the process has to end.
  package var flushTelemetry: @Sendable () -> Void = {
    (InstrumentationSystem.tracer as? BatonTracer)?.forceFlush()
  }

  /// Creates settings with the defaults that each property describes.
  public init(coordinator: String = "127.0.0.1:7420", name: String, dataFolder: String, slots: Int) {
    self.coordinator = coordinator
    self.name = name
    self.dataFolder = dataFolder
    self.slots = slots
    accepts = Set(JobKind.allCases)
    permittedIdentifiers = []
    runsCommands = true
    tokenFile = nil
    metricsTokenFile = nil
    endsProcessOnOverrun = false
    probesHost = true
  }
}

extension WorkerConfiguration {
  /// Returns warnings for the operator, which the worker's program logs at its start.
  /// - Parameter user: the effective user id of the process.
  package func warnings(user: UInt32) -> [String] {
    guard user == 0, runsCommands else { return [] }
    return [
      sandbox.allowsRoot
        ? "this worker runs as root, and so does every command of every job: give it a user of its own, as "
          + "Deploy/README.md shows it"
        : "this worker runs as root and therefore takes no job with a command: give it a user of its own, as "
          + "Deploy/README.md shows it, or set 'allow.root: true' in its worker.yaml"
    ]
  }
}

/// The reason why a worker cannot start or go on. `Worker.run()` throws it. The worker does not try again by itself:
/// mend what the message says, and start the program again.
public struct WorkerError: Error, Sendable, CustomStringConvertible {
  /// Says for people what is wrong and, where that helps, what to do about it.
  public let message: String
  package init(_ message: String) { self.message = message }
  /// The message.
  public var description: String { message }
}
