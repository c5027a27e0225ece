/// One process of a worker: the name of its host, and the incarnation that the process drew when it started.
///
/// A worker says both in its hello, and the coordinator binds them to the connection. A message on that connection
/// counts only for launches of this process, even if it names another launch.
package struct WorkerProcess: Hashable, Sendable, CustomStringConvertible {
  package var host: HostName
  package var incarnation: Incarnation

  package init(host: HostName, incarnation: Incarnation) {
    self.host = host
    self.incarnation = incarnation
  }

  package var description: String { "\(host) (\(incarnation))" }
}
