#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Records which promises of the contract were proved, and which attacks were refused, by tests that ran, in the file
/// that the environment variable `BATON_CONTRACT_LOG` names. Without that variable it does nothing.
public enum ContractLog {
  /// Appends one line, `28.1<tab>test`, for each promise. Several processes may write to the file at once, because each
  /// line is written by one call. Errors are ignored.
  /// - Parameter test: `Module/File.swift:line` of a test, or `case:` and the name of a case of the store's conformance
  ///   suite.
  public static func note(_ promises: [Double], of test: String) { append(promises.map { "\($0)\t\(test)\n" }) }

  /// Appends one line, `T13<tab>test`, for each attack, as for promises.
  public static func note(refusalsOf attacks: [Int], by test: String) {
    append(attacks.map { "T\($0)\t\(test)\n" })
  }

  private static func append(_ lines: [String]) {
    guard let path = getenv("BATON_CONTRACT_LOG") else { return }
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    guard file >= 0 else { return }
    defer { close(file) }
    for line in lines {
      _ = Array(line.utf8).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    }
  }
}
