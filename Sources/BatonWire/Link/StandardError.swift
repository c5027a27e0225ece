import SystemPackage

/// What is said to the person at the terminal: standard error, a line at a time.
package enum StandardError {
  package static func say(_ line: String) { _ = try? FileDescriptor.standardError.writeAll((line + "\n").utf8) }
}
