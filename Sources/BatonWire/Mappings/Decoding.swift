package import BatonModel
package import BatonProtobuf
import SwiftProtobuf

/// A message from a peer is not valid. The error says which field is wrong, and the connection is closed.
package struct WireError: Error, Sendable, CustomStringConvertible {
  package var message: String
  /// - Parameter message: may quote what the peer sent. It is cut after 1 KiB and its control characters are escaped,
  ///   so that it stays on one line.
  package init(_ message: String) { self.message = message.cut(toBytes: 1024).escaped }
  package var description: String { message }
}

extension LaunchKey {
  package init(_ proto: Baton_V1_LaunchKey) {
    self.init(request: RequestID(proto.request), number: Int(proto.number))
  }

  package var proto: Baton_V1_LaunchKey {
    .with {
      $0.request = request.rawValue
      $0.number = Int32(number)
    }
  }
}

extension ExpiryReason {
  init(_ code: String, detail: String?) throws {
    guard let reason = ExpiryReason(code: code, detail: detail) else {
      throw WireError("unknown expiry reason '\(code)': is the other side newer than this one?")
    }
    self = reason
  }

  init(_ proto: Baton_V1_LaunchReason) throws {
    try self.init(proto.code, detail: proto.hasDetail ? proto.detail : nil)
  }

  func proto(of launch: LaunchKey) -> Baton_V1_LaunchReason {
    .with {
      $0.launch = launch.proto
      $0.code = code
      if let detail { $0.detail = detail }
    }
  }
}

extension JobIdentifier {
  package init(wire text: String) throws {
    guard let identifier = JobIdentifier(text) else {
      throw WireError(
        "'\(text.escapedOnOneLine)' is not an identifier: parts of letters, digits, '-' and '_', separated by dots")
    }
    self = identifier
  }
}

extension IdentifierPattern {
  package init(wire text: String) throws {
    guard let pattern = IdentifierPattern(text) else {
      throw WireError("'\(text.escapedOnOneLine)' is not an identifier, nor one followed by '.*'")
    }
    self = pattern
  }
}
