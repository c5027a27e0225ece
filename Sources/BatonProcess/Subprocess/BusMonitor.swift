import Subprocess

/// A program that runs until its task is cancelled and prints something each time something changes on the system bus.
/// `BusWatch` runs it.
package struct BusMonitor: Sendable {
  private let configuration: Configuration

  /// - Parameters:
  ///   - command: the program's name or path, then its arguments.
  ///   - variables: additional environment variables for the program.
  /// - Returns: `nil` if this host does not have the program.
  package init?(_ command: [String], _ variables: [String: String]) {
    guard let executable = SystemCommand.find(command.first ?? "") else { return nil }
    configuration = SystemCommand.configuration(executable, Array(command.dropFirst()), variables)
  }

  /// Runs the program and calls `printed` for each piece of output. Returns when the program has ended and has been
  /// reaped. The program ends by itself, or is killed when the task is cancelled.
  /// - Returns: whether the program printed anything. `false` means that it does not work on this host.
  package func run(_ printed: @escaping @Sendable () -> Void) async -> Bool {
    // The table of the worker's own children keeps the sweep for orphans from killing this process.
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
