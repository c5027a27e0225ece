import BatonModel

/// An owner's command to a worker: one line of JSON with at most 4 KiB.
package struct OwnerRequest: Hashable, Sendable, Codable {
  /// `pause`, `resume` or `status`.
  package var command: String
  /// How long a pause lasts, in milliseconds; absent for a pause until `resume`.
  package var milliseconds: Int64?

  package static let status = OwnerRequest(command: "status")
  package static let resume = OwnerRequest(command: "resume")

  package static func pause(for length: Duration?) -> OwnerRequest {
    OwnerRequest(command: "pause", milliseconds: length.map { $0.nanoseconds / 1_000_000 })
  }

  static let maximumBytes = 4096
  /// The longest pause in milliseconds: 10 years, the limit of every duration that people write.
  static let longestPause: Int64 = 3650 * 86_400_000
}

/// A worker's answer: one line of JSON. It has either `error`, or the status of the host after the command was carried
/// out.
package struct OwnerAnswer: Hashable, Sendable, Codable {
  package struct Refusal: Hashable, Sendable, Codable {
    /// `notPermitted` or `badRequest`. A later version may have more codes.
    package var code: String
    package var message: String
  }

  package var status: HostStatus?
  /// What the owner should know although the command was carried out.
  package var warning: String?
  package var error: Refusal?

  package init(_ status: HostStatus, warning: String? = nil) {
    self.status = status
    self.warning = warning
  }

  init(refusing code: String, _ message: String) { error = Refusal(code: code, message: message) }
}
