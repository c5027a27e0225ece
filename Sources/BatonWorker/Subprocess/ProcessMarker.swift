/// How a process is known to come from a launch of this worker, whatever became of its parents and its process group:
/// the variable `BATON_EXPIRY_FILE` of its environment names a file in that launch's folder. A process that cleared
/// its environment is known by its group or as an adopted orphan only.
enum ProcessMarker {
  static let variable = "BATON_EXPIRY_FILE"
  static let fileName = "expiry.json"

  static func value(folder: String) -> String { folder + "/" + fileName }

  /// The launch folder that a process names, nil if it names none or cannot be asked, as a zombie.
  static func launchFolder(of pid: Int32) -> String? {
    guard let value = ProcessTable.environment(of: pid, variable), value.hasSuffix("/" + fileName) else { return nil }
    return String(value.dropLast(fileName.count + 1))
  }
}
