import BatonModel

/// What an owner's command asks of a worker: one line of JSON, at most 4 KiB of it.
package struct OwnerRequest: Hashable, Sendable, Codable {
  /// `pause`, `resume` or `status`.
  package var command: String
  /// How long a pause is to last; absent means until `resume`.
  package var milliseconds: Int64?

  package static let status = OwnerRequest(command: "status")
  package static let resume = OwnerRequest(command: "resume")

  package static func pause(for length: Duration?) -> OwnerRequest {
    OwnerRequest(command: "pause", milliseconds: length.map { $0.nanoseconds / 1_000_000 })
  }

  static let maximumBytes = 4096
  /// 10 years, as for every duration that people write.
  static let longestPause: Int64 = 3650 * 86_400_000
}

/// What a worker answers: one line of JSON. Either `error`, or the status of the host after the command was obeyed.
package struct OwnerAnswer: Hashable, Sendable, Codable {
  package struct Refusal: Hashable, Sendable, Codable {
    /// `notPermitted` or `badRequest`; a later version may know more.
    package var code: String
    package var message: String
  }

  package var status: HostStatus?
  /// What the owner has to know although the command was obeyed.
  package var warning: String?
  package var error: Refusal?

  package init(_ status: HostStatus, warning: String? = nil) {
    self.status = status
    self.warning = warning
  }

  init(refusing code: String, _ message: String) { error = Refusal(code: code, message: message) }
}
