import BatonModel
package import BatonStore

extension JSONValue {
  package init(_ cancellation: Cancellation) {
    switch cancellation {
    case .ended(_, let identifier, let number):
      self = [
        "identifier": JSONValue(identifier.rawValue), "request": JSONValue(number), "change": "cancelled",
        "launch": nil, "host": nil,
      ]
    case .stopping(let launch, let identifier, let number, let host):
      self = [
        "identifier": JSONValue(identifier.rawValue), "request": JSONValue(number), "change": "stopping",
        "launch": JSONValue(launch.number), "host": JSONValue(host.rawValue),
      ]
    }
  }
}
