#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Records which promises of the contract were proved by tests that ran, in the file that the environment variable
/// `BATON_CONTRACT_LOG` names. Without that variable it does nothing.
public enum ContractLog {
  /// Appends one line, `28.1<tab>test`, for each promise. Several processes may write to the file at once, because each
  /// line is written by one call. Errors are ignored.
  /// - Parameter test: `Module/File.swift:line` of a test, or `case:` and the name of a case of the store's conformance
  ///   suite.
  public static func note(_ promises: [Double], of test: String) {
    guard let path = getenv("BATON_CONTRACT_LOG") else { return }
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    guard file >= 0 else { return }
    defer { close(file) }
    for promise in promises {
      let line = Array("\(promise)\t\(test)\n".utf8)
      _ = line.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    }
  }
}
