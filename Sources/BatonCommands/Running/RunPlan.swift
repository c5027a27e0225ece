import BatonModel
import BatonStore

/// What `baton run` does with each identifier, given what its state knows of an earlier run.
struct RunPlan: Hashable, Sendable {
  enum Step: Hashable, Sendable {
    /// There is nothing to go on with.
    case submit
    /// The request of the earlier run is unfinished: it is only watched.
    case goOn(RequestRecord)
    /// It failed, and goes on at its checkpoint, because whoever runs it again has repaired something.
    case retry(RequestRecord)
    /// It succeeded in a run that did not come to its end: it is not done twice.
    case settled(RequestRecord)
    /// The person wants it anew: the unfinished one is cancelled first.
    case replace(RequestRecord)
  }

  struct Entry: Hashable, Sendable {
    var identifier: JobIdentifier
    var step: Step
    /// The definition has changed since the request was submitted: the request has to take it over before it goes on.
    var isOutdated = false
  }

  var entries: [Entry]

  /// - Parameters:
  ///   - known: the request of each identifier that has one.
  ///   - definitions: as they are now.
  ///   - isFinished: the earlier run came to its end, all its requests succeeded.
  ///   - isAnew: the person wants nothing of the earlier run.
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
