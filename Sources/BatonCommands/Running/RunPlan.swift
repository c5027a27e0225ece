import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// What `baton run` does with each identifier, according to what the store knows of an earlier run. `RunSession` makes
/// it and carries it out.
struct RunPlan: Hashable, Sendable {
  enum Step: Hashable, Sendable {
    /// The identifier has no request to go on with: a new request is submitted.
    case submit
    /// The request of the earlier run is unfinished: it is only watched.
    case goOn(RequestRecord)
    /// The request failed and goes on at its checkpoint: a person who runs the files again has repaired the cause.
    case retry(RequestRecord)
    /// The request succeeded in a run in which not every request did: its work is not done again.
    case settled(RequestRecord)
    /// The person asked for a start from the beginning: the unfinished request is cancelled, then a new request
    /// is submitted.
    case replace(RequestRecord)
  }

  struct Entry: Hashable, Sendable {
    var identifier: JobIdentifier
    var step: Step
    /// The definition has changed since the request was submitted: the request must get the new definition before it
    /// goes on.
    var isOutdated = false
  }

  var entries: [Entry]

  /// - Parameters:
  ///   - known: the current request of each identifier that has a request.
  ///   - definitions: the stored definition of each identifier, as it is now.
  ///   - isFinished: whether all requests of the earlier run succeeded, so that nothing of it goes on.
  ///   - isAnew: whether the person asked for a start from the beginning (`--anew`).
  init(
    _ identifiers: [JobIdentifier], known: [JobIdentifier: RequestRecord],
    definitions: [JobIdentifier: DefinitionID], isFinished: Bool, isAnew: Bool
  ) {
    entries = identifiers.map { identifier in
      guard let record = known[identifier] else { return Entry(identifier: identifier, step: .submit) }
      let isOutdated = definitions[identifier] != record.definition
      let step = Self.step(record, isOutdated: isOutdated, isFinished: isFinished, isAnew: isAnew)
      return Entry(identifier: identifier, step: step, isOutdated: isOutdated && step.keepsRequest)
    }
  }

  private static func step(
    _ record: RequestRecord, isOutdated: Bool, isFinished: Bool, isAnew: Bool
  ) -> Step {
    switch record.state {
    case .scheduled, .ready, .running: isAnew ? .replace(record) : .goOn(record)
    case .failed: isAnew ? .submit : .retry(record)
    case .succeeded: isAnew || isFinished || isOutdated ? .submit : .settled(record)
    case .cancelled: .submit
    }
  }
}

extension RunPlan.Step {
  var keepsRequest: Bool {
    switch self {
    case .goOn, .retry: true
    case .submit, .settled, .replace: false
    }
  }

  var submits: Bool {
    switch self {
    case .submit, .replace: true
    case .goOn, .retry, .settled: false
    }
  }
}
