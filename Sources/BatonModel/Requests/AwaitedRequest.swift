/// A request that another one waits for, or has waited for.
package struct AwaitedRequest: Hashable, Sendable {
  package var request: RequestID
  package var identifier: JobIdentifier
  package var number: Int
  /// How it has to end.
  package var end: Dependency.End
  package var state: State

  /// Whether it has ended, and whether it has ended as asked.
  package enum State: String, Hashable, Sendable, CaseIterable { case open, met, broken }

  package init(request: RequestID, identifier: JobIdentifier, number: Int, end: Dependency.End, state: State) {
    (self.request, self.identifier, self.number) = (request, identifier, number)
    (self.end, self.state) = (end, state)
  }

  /// The request as people name it.
  package var name: String { "\(identifier) (request \(number))" }
}
