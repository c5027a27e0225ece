import BatonModel

/// The variables of a command: a few of the worker's own, then the launch's, then the definition's, then Baton's.
///
/// Of the worker's environment a command sees `PATH`, `HOME`, `LANG` and `LC_*`, and nothing else: no tokens, no
/// settings. `TMPDIR` is a folder of the launch. The GPUs that the
/// launch holds are in `BATON_GPUS` by what their drivers call them, NVIDIA's in `CUDA_VISIBLE_DEVICES` too.
struct CommandEnvironment: Sendable {
  /// Used where the worker has no `PATH`.
  static let standardPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
  /// W3C trace context, as https://opentelemetry.io/docs/specs/otel/context/env-carriers has it.
  static let traceVariable = "TRACEPARENT"

  private var values: [String: String]

  init(
    worker: [String: String], work: Work, assignment: Assignment, gpus: [String] = [], host: HostName,
    folder: LaunchFolder, text: CommandText
  ) {
    values = worker.filter { ["PATH", "HOME", "LANG"].contains($0.key) || $0.key.hasPrefix("LC_") }
    values["PATH"] = values["PATH"] ?? Self.standardPath
    values["TMPDIR"] = folder.temporary
    // By id: a number would be another GPU as soon as one is gone.
    let devices = gpus.filter { $0.hasPrefix("GPU-") || $0.hasPrefix("MIG-") }
    if !devices.isEmpty { values["CUDA_VISIBLE_DEVICES"] = devices.joined(separator: ",") }
    for (name, value) in work.environment { values[name] = text.expand(value) }
    values["BATON_IDENTIFIER"] = assignment.identifier.rawValue
    values["BATON_REQUEST"] = String(assignment.requestNumber)
    values["BATON_LAUNCH"] = String(assignment.launch.number)
    values["BATON_HOST"] = host.rawValue
    if !gpus.isEmpty { values["BATON_GPUS"] = gpus.joined(separator: ",") }
    values["BATON_PAYLOAD_FILE"] = folder.payloadFile(of: assignment)
    values["BATON_CHECKPOINT_FILE"] = folder.checkpointFile(of: assignment)
    values[ProcessMarker.variable] = folder.expiryFile
    values[Self.traceVariable] = assignment.trace.traceparent
  }

  /// What executables are searched on.
  var path: String { values["PATH"] ?? Self.standardPath }

  /// - Parameter batch: counted over all launches of the request: with the request it names this piece of work.
  func variables(batch: Int, adding extra: [String: String] = [:]) -> [String: String] {
    values.merging(extra) { $1 }.merging(["BATON_BATCH": String(batch)]) { $1 }
  }
}

/// Puts what the identifier's `*` matched where a definition says `${wildcard}`.
struct CommandText: Sendable {
  let wildcard: String?

  func expand(_ text: String) -> String {
    guard let wildcard, text.contains("${wildcard}") else { return text }
    return text.replacing("${wildcard}", with: wildcard)
  }
}
