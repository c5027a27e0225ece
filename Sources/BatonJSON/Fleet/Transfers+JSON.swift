package import BatonCoordinator
import BatonModel
import BatonStore

extension JSONValue {
  package init(_ one: FleetTransfer) {
    let (transfer, status) = (one.transfer, one.status)
    var (file, failure, wait): (TransferredFile?, TransferFailure?, TransferWait?)
    switch status?.state {
    case .ended(.done(let done)): file = done
    case .ended(.failed(let failed)): failure = failed
    case .waiting(let why, _): wait = why
    case .running, .ended(.cancelled), nil: break
    }
    self = [
      "transfer": JSONValue("\(one.key)"), "identifier": JSONValue(one.identifier.rawValue),
      "request": JSONValue(one.request), "host": JSONValue(one.host), "url": JSONValue(one.address),
      "method": JSONValue(transfer.method.rawValue), "group": JSONValue(transfer.group),
      "to": JSONValue(transfer.to), "file": JSONValue(transfer.file), "state": JSONValue(one.word),
      "waitsFor": JSONValue(wait?.rawValue), "isCancelling": .bool(one.isCancelling),
      "bytes": JSONValue(status.map { Int($0.bytes) }), "total": JSONValue(status?.total.map { Int($0) }),
      "bytesPerSecond": JSONValue(status?.bytesPerSecond.map { Int($0) }),
      "secondsLeft": JSONValue(one.timeLeft.map { Int($0.components.seconds) }),
      "attempts": JSONValue(status?.attempts), "resumedFrom": JSONValue(status.map { Int($0.resumedFrom) }),
      "httpStatus": JSONValue(status?.httpStatus), "lastError": JSONValue(status?.lastError),
      "path": JSONValue(file?.path), "sha256": JSONValue(file?.sha256), "code": JSONValue(failure?.code.rawValue),
      "error": JSONValue(failure?.text), "orderedAt": JSONValue(status?.orderedAt),
      "endedAt": JSONValue(status?.endedAt),
      "toldToLaunch": JSONValue(one.told),
    ]
  }
}

extension FleetTransfer {
  /// The state as a word for programs.
  package var word: String {
    switch status?.state {
    case nil: "ordered"
    case .waiting: "waiting"
    case .running: "running"
    case .ended(let end): end.word
    }
  }

  /// The address without what is secret in it.
  package var address: String { WebAddress(transfer.url)?.shown ?? transfer.url }
}
