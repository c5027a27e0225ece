#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Writes down which promises of the contract were kept by a test that ran, in the file that `BATON_CONTRACT_LOG` names;
/// without that variable it does nothing.
public enum ContractLog {
  /// One line, `28.1<tab>test`, for each promise. Processes may write to one file at once: each line is one write.
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
