extension Refusal {
  /// The kinds of refusal. The raw value is Apple's code, which JSON and gRPC use. `Documentation/reference/reasons.md`
  /// is generated from the texts of this file.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case notPermitted, tooManyPendingTaskRequests, unavailable, immediateRunIneligible
  }

  package var kind: Kind {
    switch self {
    case .notPermitted, .unusable: .notPermitted
    case .tooManyPending: .tooManyPendingTaskRequests
    case .unavailable: .unavailable
    case .immediateRunIneligible: .immediateRunIneligible
    }
  }
}

extension Refusal.Kind {
  /// What the refusal means, in a sentence or two of Markdown.
  package var meaning: String {
    switch self {
    case .notPermitted:
      "The identifier is not defined, or the coordinator's `permittedIdentifiers` leave it out. The message names the "
        + "most similar identifier that is defined. Or what is defined cannot be run: an older version stored a definition that breaks "
        + "a rule, or what the `*` matched begins with `-` and would become an option of the command."
    case .tooManyPendingTaskRequests:
      "As many requests are pending as `pendingLimit` of the definition or `limits.pending` of the coordinator allows; "
        + "the message says which, and how many."
    case .unavailable:
      "The coordinator accepts nothing now: it is shutting down, the fleet is paused, or its store cannot be written or is "
        + "overloaded."
    case .immediateRunIneligible:
      "The definition has `strategy: fail`, and nothing can start it at once. The message has every obstacle; nothing "
        + "was left behind."
    }
  }

  /// What the caller can do about it.
  package var remedy: String {
    switch self {
    case .notPermitted:
      "apply a definition for it (baton apply FILE), or correct the identifier; the message says which"
    case .tooManyPendingTaskRequests: "wait until some have started, cancel some, or raise the limit"
    case .unavailable:
      "submit again in a moment, with the same id; 'baton resume' if it is paused; make room on the store's disk if that "
        + "is full"
    case .immediateRunIneligible: "submit again later, or declare 'strategy: queue'"
    }
  }

  /// The exit status of a command whose submission was refused (Documentation/reference/errors.md).
  package var exitStatus: Int32 {
    switch self {
    case .tooManyPendingTaskRequests, .immediateRunIneligible: 4
    case .unavailable: 75
    case .notPermitted: 77
    }
  }

  /// The HTTP status of the answer.
  package var httpStatus: Int {
    switch self {
    case .notPermitted: 403
    case .immediateRunIneligible: 409
    case .tooManyPendingTaskRequests: 429
    case .unavailable: 503
    }
  }
}
