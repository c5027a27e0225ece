/// How a process ended.
package enum ProcessEnd: Hashable, Sendable {
  case exited(Int32)
  case signalled(Int32)

  package var isSuccess: Bool { self == .exited(0) }
}

/// How a process ended, and which signals the worker sent to it. These signals may be the cause of the end.
package struct ProcessOutcome: Hashable, Sendable {
  package var end: ProcessEnd
  package var signalsSent: Set<Int32>
}
