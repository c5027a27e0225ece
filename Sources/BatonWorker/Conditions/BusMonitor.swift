import Subprocess

/// A program that runs until its task ends and prints something when something changed.
struct BusMonitor: Sendable {
  private let configuration: Configuration

  /// Nil if the program is not there.
  init?(_ command: [String], _ variables: [String: String]) {
    guard let executable = SystemCommand.find(command.first ?? "") else { return nil }
    configuration = SystemCommand.configuration(executable, Array(command.dropFirst()), variables)
  }

  /// Returns when the program has ended and is reaped: by itself, or because the task is cancelled, which kills it.
  /// - Returns: whether it printed anything, and so worked.
  func run(_ printed: @escaping @Sendable () -> Void) async -> Bool {
    // Known as a child of the worker's own: the sweep for orphans spares it.
    let place = ChildTable.reserve()
    defer { ChildTable.forget(place) }
    let result = try? await Subprocess.run(configuration, input: .none, output: .sequence, error: .discarded) {
      execution in
      ChildTable.remember(execution.processIdentifier.value, at: place)
      var hasPrinted = false
      for try await _ in execution.standardOutput {
        hasPrinted = true
        printed()
      }
      return hasPrinted
    }
    return result?.closureResult ?? false
  }
}
