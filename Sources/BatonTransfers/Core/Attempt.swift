package import BatonModel

/// Names one version of a file on its server, so that the rest of the same version can be asked for (RFC 9110, section
/// 13.1.5).
package struct Validator: Hashable, Sendable, Codable {
  /// A strong entity tag, with its quotation marks, or a date of the last change that counts as strong.
  package var text: String
  package var isTag: Bool
}

/// What an attempt asks a server for.
package struct AttemptPlan: Hashable, Sendable {
  package var key: TransferKey
  package var assignment: TransferAssignment
  /// The first byte to ask for. The partial file has the bytes before it; 0 means the whole file, without a range.
  package var offset: Int64
  /// What the partial file is a part of. There is one if `offset` is not 0.
  package var validator: Validator?
  /// The length of the file, as the server said it; `nil` if it did not.
  package var total: Int64?
}

/// The head of a server's answer, with the names of its fields in lower case.
package struct ResponseHead: Hashable, Sendable {
  package var status: Int
  package var fields: [String: String]

  package init(_ status: Int, _ fields: [String: String] = [:]) { (self.status, self.fields) = (status, fields) }

  package subscript(_ name: String) -> String? { fields[name] }
}

/// What the bytes of an answer are.
package struct Reception: Hashable, Sendable {
  /// The place of the first byte in the file. What the partial file has after it is discarded.
  package var from: Int64
  package var total: Int64?
  package var validator: Validator?

  package init(from: Int64, total: Int64?, validator: Validator?) {
    (self.from, self.total, self.validator) = (from, total, validator)
  }
}

/// How an attempt ended.
package enum AttemptEnd: Hashable, Sendable {
  /// The file is checked, synced and under its final name, or the server has accepted it.
  case finished(TransferredFile)
  /// The connection did not come about, or broke. The next attempt goes on where this one stopped.
  case interrupted(String)
  /// The server asks for patience, for at least this time if it said one.
  case busy(String, retryAfter: Duration?)
  /// What has arrived is of no use. The next attempt begins at the beginning, and asks for no ranges any more if
  /// `rangesLie`.
  case startOver(String, rangesLie: Bool)
  /// The disk is full.
  case noRoom(String)
  /// No further attempt would help.
  case failed(TransferFailure)
  /// The attempt was asked to stop, and has.
  case stopped
}
