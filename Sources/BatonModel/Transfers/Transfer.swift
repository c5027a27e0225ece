/// A file that a job wants to have fetched or sent outside of its launches (contract, row 37).
///
/// A transfer belongs to a request. One host carries it out, in a process that outlives handlers, commands and workers.
/// When all transfers of a group have ended, one launch of the request gets their events (row 39).
package struct Transfer: Hashable, Sendable, Codable {
  package enum Method: String, Sendable, Codable, CaseIterable {
    /// Fetches `url` into the file `to`.
    case get
    /// Sends `file` to `url`.
    case put, post
  }

  /// An `http` or `https` URL.
  package var url: String
  package var method: Method
  /// Where a fetched file is to be. A relative path is a file in the request's own folder of the host's transfer
  /// folder, which is removed when the request has ended. An absolute path has to be below a folder that the host's
  /// owner permits, and the file there is the user's: Baton never removes it. `nil` for `put` and `post`.
  package var to: String?
  /// The file to send, with the same rule for its path; `nil` for `get`.
  package var file: String?
  /// The header fields of the HTTP request, by name.
  package var headers: [String: TransferHeader]
  /// The SHA-256 that the file must have, as 64 hexadecimal digits in lower case; `nil` if it is not known.
  package var sha256: String?
  /// The length that the file must have, in bytes; `nil` if it is not known.
  package var size: Int64?
  /// The transfers of one group and one request end together: a launch follows when the last of them has ended.
  package var group: String
  /// Whether the transfer waits for a host that is idle, on external power and on an unmetered network, and pauses
  /// while it is not.
  package var isDiscretionary: Bool
  package var network: NetworkRequirement
  /// Whether the transfer may use a network that the host's owner calls constrained.
  package var allowsConstrained: Bool
  /// The longest silence on the connection. After it the attempt ends, and the next one goes on where it stopped.
  package var requestTimeout: Duration
  /// The longest time from the order to the end, over all attempts. After it the transfer has failed.
  package var resourceTimeout: Duration
  /// The transfer does not begin before this time.
  package var earliestBeginDate: Timestamp?
  /// Whether `to` is a place that every host can reach, such as a network file system. The launch that gets the events
  /// can then run on any host.
  package var isShared: Bool

  package static let defaultGroup = "default"
  package static let defaultRequestTimeout = Duration.seconds(60)
  package static let defaultResourceTimeout = Duration.seconds(7 * 86_400)

  package init(
    url: String, method: Method = .get, to: String? = nil, file: String? = nil,
    headers: [String: TransferHeader] = [:], sha256: String? = nil, size: Int64? = nil,
    group: String = Self.defaultGroup, isDiscretionary: Bool = false, network: NetworkRequirement = .any,
    allowsConstrained: Bool = true, requestTimeout: Duration = Self.defaultRequestTimeout,
    resourceTimeout: Duration = Self.defaultResourceTimeout, earliestBeginDate: Timestamp? = nil,
    isShared: Bool = false
  ) {
    (self.url, self.method, self.to, self.file) = (url, method, to, file)
    (self.headers, self.sha256, self.size, self.group) = (headers, sha256, size, group)
    (self.isDiscretionary, self.network, self.allowsConstrained) = (isDiscretionary, network, allowsConstrained)
    (self.requestTimeout, self.resourceTimeout) = (requestTimeout, resourceTimeout)
    (self.earliestBeginDate, self.isShared) = (earliestBeginDate, isShared)
  }
}

/// The value of a header field: a text, or a text around a secret of the host. Definitions never have the value of a
/// secret; the host reads it at each attempt.
package struct TransferHeader: Hashable, Sendable, Codable {
  /// The text of the field, or what stands before the secret, such as `Bearer `.
  package var text: String
  /// The file of the secret in the host's folder of secrets; `nil` if the field has none.
  package var secret: String?
  /// The environment variable of the host's transfers process that has the secret; `nil` if the field has none. A field
  /// has a file or a variable, never both.
  package var variable: String?

  package init(_ text: String, secret: String? = nil, variable: String? = nil) {
    (self.text, self.secret, self.variable) = (text, secret, variable)
  }
}

/// Names a transfer in the whole fleet.
package struct TransferKey: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
  /// The row of the request, or of its shard, to which the transfer belongs.
  package var request: RequestID
  /// The number of the transfer within its request, from 0.
  package var index: Int

  package init(request: RequestID, index: Int) { (self.request, self.index) = (request, index) }

  package var description: String { "\(request)/\(index)" }
  package static func < (left: Self, right: Self) -> Bool {
    (left.request, left.index) < (right.request, right.index)
  }

  package init(from decoder: any Decoder) throws {
    var values = try decoder.unkeyedContainer()
    request = RequestID(try values.decode(Int64.self))
    index = try values.decode(Int.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var values = encoder.unkeyedContainer()
    try values.encode(request.rawValue)
    try values.encode(index)
  }
}
