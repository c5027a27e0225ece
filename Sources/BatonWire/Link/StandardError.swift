import SystemPackage

/// Writes messages for the person at the terminal to standard error, one line at a time. Errors of the output are
/// ignored.
package enum StandardError {
  package static func say(_ line: String) { _ = try? FileDescriptor.standardError.writeAll((line + "\n").utf8) }
}
