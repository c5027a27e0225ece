/// One process of a worker: the name of its host, and the incarnation that it drew when it started.
///
/// A worker says both in its hello. The coordinator binds them to the connection: everything that comes up that
/// connection counts for launches of this process only, whatever launch it names.
package struct WorkerProcess: Hashable, Sendable, CustomStringConvertible {
  package var host: HostName
  package var incarnation: Incarnation

  package init(host: HostName, incarnation: Incarnation) {
    self.host = host
    self.incarnation = incarnation
  }

  package var description: String { "\(host) (\(incarnation))" }
}
