package import BatonModel

/// What the store knows of a launch that submits a request.
package struct Submitter: Hashable, Sendable {
  package var identifier: JobIdentifier
  /// The principal who submitted the request of the launch. What the launch submits is submitted by this one too.
  package var principal: String
  /// The identifiers that the definition of the launch permits it to submit.
  package var maySubmit: [IdentifierPattern]
  /// The trace of the request, with the span of the launch.
  package var trace: TraceContext
}

extension Verbs {
  package func submitter(_ launch: LaunchKey, for process: WorkerProcess) throws -> Submitter? {
    guard try isRunning(launch, on: process) else { return nil }
    let found = try prepare(.submitter).first(launch.request.rawValue, launch.number) { row in
      (
        identifier: JobIdentifier(trusted: row.text(0)), principal: row.text(1), definition: DefinitionID(row.int64(2)),
        trace: row.trace(3)
      )
    }
    guard let found else { return nil }
    return Submitter(
      identifier: found.identifier, principal: found.principal,
      maySubmit: try definition(found.definition)?.maySubmit ?? [], trace: found.trace)
  }
}

extension Query {
  static let submitter = Query(
    """
    SELECT i.name, r.principal, r.definition, r.trace_id, l.span_id, r.is_sampled
    FROM launch l JOIN request r ON r.id = l.request JOIN identifier i ON i.id = r.identifier
    WHERE l.request = ? AND l.number = ? AND l.ended_at IS NULL
    """)
}
