import BatonBase
import BatonModel
import BatonProcess

/// The environment variables of a command: a few of the worker's own, then the launch's, then the definition's, then
/// Baton's. Later ones replace earlier ones with the same name.
///  Of the worker's environment, a command gets only `PATH`, `HOME`, `LANG`, and the `LC_` variables of POSIX and glibc
/// if they name a locale; for a command with a user of its own, `HOME`, `USER` and `LOGNAME` are that user's. It does
/// not get the worker's tokens or settings. `TMPDIR` is a folder of the launch. `BATON_GPUS` has the GPUs that the
/// launch holds, by the ids of their drivers; NVIDIA's are in `CUDA_VISIBLE_DEVICES` too.
struct CommandEnvironment: Sendable {
  /// The variable with the W3C trace context, as https://opentelemetry.io/docs/specs/otel/context/env-carriers defines
  /// it.
  static let traceVariable = "TRACEPARENT"

  /// The variables of section XBD 8.2 of POSIX.1-2024, and those of locale(7) that only glibc has.
  static let localeVariables: Set = [
    "LANG", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
    "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
  ]

  /// Whether the value is the name of a locale, such as `de_DE.UTF-8@euro`. A value with a slash would be a path to a
  /// file (POSIX), and is not accepted.
  private static func isLocale(_ value: String) -> Bool {
    (1...64).contains(value.utf8.count)
      && value.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "@"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  private var values: [String: String]

  init(
    worker: [String: String], work: Work, assignment: Assignment, gpus: [String] = [], host: HostName,
    folder: LaunchFolder, user: CommandUser? = nil, shards: Int? = nil, hasTransfers: Bool = false,
    maySubmit: Bool = false
  ) {
    values = worker.filter { variable in
      ["PATH", "HOME"].contains(variable.key)
        || (Self.localeVariables.contains(variable.key) && Self.isLocale(variable.value))
    }
    values["PATH"] = values["PATH"] ?? SystemCommand.standardPath
    values["TMPDIR"] = folder.temporary
    if let user {
      for (name, value) in ["HOME": user.home, "USER": user.name, "LOGNAME": user.name] { values[name] = value }
    }
    // GPUs are named by id, because their numbers change when a GPU vanishes.
    let devices = gpus.filter { $0.hasPrefix("GPU-") || $0.hasPrefix("MIG-") }
    if !devices.isEmpty { values["CUDA_VISIBLE_DEVICES"] = devices.joined(separator: ",") }
    for (name, value) in work.environment { values[name] = value }
    values["BATON_IDENTIFIER"] = assignment.identifier.rawValue
    values["BATON_REQUEST"] = String(assignment.requestNumber)
    values["BATON_LAUNCH"] = String(assignment.launch.number)
    values["BATON_HOST"] = host.rawValue
    if let shard = assignment.shard { values["BATON_SHARD"] = String(shard.index) }
    if let shards { values["BATON_SHARDS"] = String(shards) }
    if let time = assignment.scheduledAt { values["BATON_SCHEDULED_TIME"] = time.utc }
    if !gpus.isEmpty { values["BATON_GPUS"] = gpus.joined(separator: ",") }
    if !assignment.inputs.isEmpty { values["BATON_INPUTS_FILE"] = folder.inputsFile }
    if hasTransfers { values["BATON_TRANSFERS"] = folder.transfersFile }
    if maySubmit { values[SubmissionSocketClient.variable] = folder.submissionSocket }
    values["BATON_PAYLOAD_FILE"] = folder.payloadFile(of: assignment)
    values["BATON_CHECKPOINT_FILE"] = folder.checkpointFile(of: assignment)
    values[ProcessMarker.variable] = folder.expiryFile
    values[Self.traceVariable] = assignment.trace.traceparent
  }

  /// The search path for executables.
  var path: String { values["PATH"] ?? SystemCommand.standardPath }

  /// The variables for one batch.
  /// - Parameters:
  ///   - batch: the number of the batch, counted over all launches of the request. Request and batch together identify
  ///     this piece of work.
  ///   - extra: variables for this run only.
  func variables(batch: Int, adding extra: [String: String] = [:]) -> [String: String] {
    values.merging(extra) { $1 }.merging(["BATON_BATCH": String(batch)]) { $1 }
  }
}
