public import BatonModel
internal import BatonTelemetry
internal import Tracing

/// How a worker runs. The defaults suit a worker beside a coordinator on one machine.
public struct WorkerConfiguration: Sendable {
  /// Where the coordinator listens, `HOST:PORT`.
  public var coordinator: String
  /// The host's name in the fleet, unique there.
  public var name: String
  /// The worker's own folder, made if it is missing.
  public var dataFolder: String
  /// What its launches share; a launch holds its definition's `slots` of them.
  public var slots: Int
  public var accepts: Set<JobKind>
  /// What may run here at all; empty means everything.
  public var permittedIdentifiers: [IdentifierPattern]
  /// Launch time that may be used here in a day, in all; nil means no limit. What runs when it is used up expires, and
  /// starts again the next day (UTC, by a clock that does not step).
  public var dailyAllowance: Duration?
  /// Runs definitions that have a `work`. Off for a program that has only handlers of its own.
  public var runsCommands: Bool
  /// The file with the coordinator's token; nil finds the one of a coordinator of the same user on this machine.
  public var tokenFile: String?
  /// Ends the process when a handler ignores its deadline, after the others have committed what they have. A
  /// supervisor starts it anew. Off by default in a program of your own: then a handler that ignores cancellation
  /// holds its host beyond the deadline.
  public var endsProcessOnOverrun: Bool
  /// Reads the host's power, battery, temperature, network, use and GPUs, and stops what they forbid. Off, the host is
  /// taken to have external power, a network and nobody at it, for ever.
  public var probesHost: Bool
  /// How the host is read, and what is made of it.
  package var conditions = ConditionSettings()
  /// At which hours of the day the host's owner lends it.
  package var hours = LendingHours.always
  /// What commands without `requiresExternalPower` may use of the processors, all together; nil means no limit.
  package var cpuLimit: CPUQuota?
  /// Which batches are sent as spans, where requests are traced.
  package var batchSampling = BatchSampling()
  /// Listens for `baton-worker pause`, `resume` and `status`.
  package var answersOwner = false
  /// Where it does; nil for the usual place.
  package var ownerSocket: String?
  /// The process is this worker's alone: what its commands leave behind becomes its child, and every child that is not a
  /// command is killed. Not for a program that starts processes of its own.
  package var ownsProcess = false
  /// Sends the spans and metrics that wait, without waiting for the backend: called before the process has to end.
  package var flushTelemetry: @Sendable () -> Void = {
    (InstrumentationSystem.tracer as? BatonTracer)?.forceFlush()
  }

  public init(coordinator: String = "127.0.0.1:7420", name: String, dataFolder: String, slots: Int) {
    self.coordinator = coordinator
    self.name = name
    self.dataFolder = dataFolder
    self.slots = slots
    accepts = Set(JobKind.allCases)
    permittedIdentifiers = []
    runsCommands = true
    tokenFile = nil
    endsProcessOnOverrun = false
    probesHost = true
  }
}

extension WorkerConfiguration {
  /// What its operator has to know when it starts.
  /// - Parameter user: the effective user id of its process.
  package func warnings(user: UInt32) -> [String] {
    guard user == 0, runsCommands else { return [] }
    return [
      "this worker runs as root, and so does every command of every job: give it a user of its own, as Deploy/README.md "
        + "shows it"
    ]
  }
}

/// Why a worker could not start or go on; the message says what to do.
public struct WorkerError: Error, Sendable, CustomStringConvertible {
  public let message: String
  package init(_ message: String) { self.message = message }
  public var description: String { message }
}
