/// What a host is told about transfers. Each order may arrive twice, and after any restart, without harm.
package enum TransferOrder: Hashable, Sendable, Codable {
  /// Carry out the transfer. The order of a key never changes.
  indirect case carryOut(TransferAssignment)
  /// Stop the transfer. It ends as `cancelled`, and its partial file is removed.
  case cancel(TransferKey)
  /// The end of the transfer is in the store: the host may forget the transfer, but keeps its file.
  case forget(TransferKey)
  /// The request has ended: remove the folder with its files, and forget its transfers.
  case release(RequestID)
  /// Do as if this had happened to the transfer. It is told once, and is lost with a process or a connection.
  case simulate(TransferKey, TransferSimulation)
}

/// What `baton simulate transfer` does to a transfer that has not ended.
package enum TransferSimulation: String, Sendable, Codable, CaseIterable {
  /// The transfer fails for good, with the code `simulated`.
  case failure
  /// The attempt that runs ends as if the connection was lost. The next one goes on after the usual wait.
  case interruption
}

/// A transfer with what a host needs to carry it out.
package struct TransferAssignment: Hashable, Sendable, Codable {
  package var key: TransferKey
  package var transfer: Transfer
  /// The identifier of the request, by which the host's owner permits secrets, folders and addresses.
  package var identifier: JobIdentifier
  /// The pattern of the definition; `identifier` if it has no wildcard.
  package var pattern: IdentifierPattern

  package init(key: TransferKey, transfer: Transfer, identifier: JobIdentifier, pattern: IdentifierPattern) {
    (self.key, self.transfer) = (key, transfer)
    (self.identifier, self.pattern) = (identifier, pattern)
  }
}

/// What a host says of a transfer. The host repeats the last status of each transfer after every reconnection, until it
/// is told to forget the transfer.
package struct TransferStatus: Hashable, Sendable, Codable {
  package var key: TransferKey
  package var state: TransferState
  /// How many bytes of the file are there, or have been sent.
  package var bytes: Int64
  /// The length of the file, in bytes; `nil` while it is not known.
  package var total: Int64?
  /// The current rate; `nil` while nothing flows.
  package var bytesPerSecond: Int64?
  /// How many times a connection was asked for the file, from 0.
  package var attempts: Int
  /// At which byte the last attempt went on; 0 if it began at the beginning.
  package var resumedFrom: Int64
  /// The last status of the server; `nil` if no server has answered.
  package var httpStatus: Int?
  /// The error of the last attempt that did not end the transfer, in words; `nil` if there was none.
  package var lastError: String?
  /// When the host received the order, and when the transfer ended, by the host's wall clock.
  package var orderedAt: Timestamp
  package var endedAt: Timestamp?

  package init(
    key: TransferKey, state: TransferState, bytes: Int64 = 0, total: Int64? = nil, bytesPerSecond: Int64? = nil,
    attempts: Int = 0, resumedFrom: Int64 = 0, httpStatus: Int? = nil, lastError: String? = nil,
    orderedAt: Timestamp, endedAt: Timestamp? = nil
  ) {
    (self.key, self.state, self.bytes, self.total) = (key, state, bytes, total)
    (self.bytesPerSecond, self.attempts, self.resumedFrom) = (bytesPerSecond, attempts, resumedFrom)
    (self.httpStatus, self.lastError) = (httpStatus, lastError)
    (self.orderedAt, self.endedAt) = (orderedAt, endedAt)
  }
}

package enum TransferState: Hashable, Sendable, Codable {
  case waiting(TransferWait, until: Timestamp?)
  case running
  case ended(TransferEnd)
}

/// Why a transfer does not run now. None of these is a failure.
package enum TransferWait: String, Sendable, Codable, CaseIterable {
  /// The earliest begin date has not come.
  case earliestBeginDate
  /// Other transfers of the host go first.
  case turn
  /// The host has no network, only a metered one, or only a constrained one.
  case network, unmeteredNetwork, unconstrainedNetwork
  /// A discretionary transfer waits for external power, or for an idle host.
  case externalPower, idle
  /// The owner paused the host, or the time is outside of the owner's hours.
  case owner
  /// The quota of the host's transfers is used up, or its disk has too little room.
  case quota, room
  /// The last attempt failed in a way that may pass.
  case retry
}

/// How a transfer ended.
package enum TransferEnd: Hashable, Sendable, Codable {
  /// The file is complete, checked, synced and under its final name, or the server has accepted it.
  case done(TransferredFile)
  case failed(TransferFailure)
  case cancelled
}

package struct TransferredFile: Hashable, Sendable, Codable {
  /// The absolute path of the file on its host.
  package var path: String
  package var bytes: Int64
  /// The SHA-256 of the file, as 64 hexadecimal digits.
  package var sha256: String

  package init(path: String, bytes: Int64, sha256: String) {
    (self.path, self.bytes, self.sha256) = (path, bytes, sha256)
  }
}

/// Why a transfer failed for good.
package struct TransferFailure: Hashable, Sendable, Codable {
  package enum Code: String, Sendable, Codable, CaseIterable {
    /// The host's owner does not permit the address, the folder, the file or a secret.
    case notPermitted
    /// The server refused the request, with a status that another attempt would not change.
    case refusedByServer
    /// The server wants other credentials (401, 403, 407).
    case unauthorized
    /// The server redirects in circles, too often, or to an address that is not permitted.
    case redirect
    /// The certificate of the server is not trusted.
    case untrustedCertificate
    /// The file is longer or shorter than its definition says.
    case wrongSize
    /// The file is larger than all transfers of the host may be together.
    case tooLarge
    /// The file does not have the SHA-256 that its definition says.
    case wrongHash
    /// Something is at the place of the file already, and it is another file.
    case targetExists
    /// The folder of the target cannot be written, or the file to send cannot be read.
    case file
    /// The order itself cannot be carried out, such as one with an address that is no `http` or `https` URL.
    case invalid
    /// The transfer had not ended within its `resourceTimeout`.
    case timedOut
    /// The host that had the files was forgotten.
    case hostForgotten
    /// `baton simulate transfer --fail` asked for it.
    case simulated
  }

  package var code: Code
  /// What happened, where, and what to do about it, in words for people, at most 1,000 characters.
  package var text: String

  package init(_ code: Code, _ text: String) { (self.code, self.text) = (code, text) }
}
