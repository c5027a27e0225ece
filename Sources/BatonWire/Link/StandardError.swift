import SystemPackage

/// Writes messages for the person at the terminal to standard error, one line at a time. Errors of the output are
/// ignored.
package enum StandardError {
  /// Writes text without a line break after it.
  package static func write(_ text: String) { _ = try? FileDescriptor.standardError.writeAll(text.utf8) }

  package static func say(_ line: String) { _ = try? FileDescriptor.standardError.writeAll((line + "\n").utf8) }
}
