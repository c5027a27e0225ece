import BatonModel
import BatonTelemetry
import Tracing

/// How a run ended, for its span and the span of the batch that was open.
enum RunEnd: Sendable {
  case finished
  /// An expiry is not an error: the status of the span stays unset.
  case expired(ExpiryReason)
  case failed(Failure)
  /// The run was stopped from outside without an expiry.
  case lost

  /// As the core says, and as the store takes a refresh that says that it failed.
  init(_ ending: Ending, _ failure: Failure?) {
    switch ending.outcome {
    case .finished: self = ending.result == .failed ? .failed(.refresh) : .finished
    case .expired(let reason): self = .expired(reason)
    case .failed(let text): self = .failed(failure ?? Failure(type: Failure.other, text: text))
    case .lost: self = .lost
    }
  }

  /// The value of `baton.launch.outcome`, as the worker saw the launch end.
  var outcome: LaunchOutcome {
    switch self {
    case .finished: .finished
    case .expired(let reason): .expired(reason)
    case .failed(let failure): .failed(failure.text)
    case .lost: .lost
    }
  }

  var ofBatch: BatchSampler.End {
    switch self {
    case .finished: .finished
    case .expired, .lost: .interrupted
    case .failed: .failed
    }
  }
}

extension Tracing.Span {
  /// Adds how the run ended to this span. A failure becomes an error; an expiry only becomes an attribute.
  func says(_ end: RunEnd, at time: Timestamp) {
    switch end {
    case .finished, .lost: break
    case .expired(let reason):
      add([Attribute(Names.Attribute.expiryReason, .string(reason.code))])
    case .failed(let failure):
      if let error = failure.error { recordError(error, attributes: [:], at: time.forTracing) }
      add([Attribute(Names.Attribute.errorType, .string(failure.type))])
      setStatus(.init(code: .error, message: failure.text))
    }
  }
}
