import BatonModel
import Crypto

/// Signs receipts with the key of the store's folder (HMAC-SHA256), so that a worker can bring back only what a
/// coordinator of this store said. One receipt from the future would pause the fleet.
struct ReceiptSeal: Sendable {
  private let key: SymmetricKey

  /// - Parameter key: nil draws a key for this coordinator only: receipts of another one then do not count.
  init(_ key: [UInt8]?) { self.key = key.map { SymmetricKey(data: $0) } ?? SymmetricKey(size: .bits256) }

  func sealed(_ receipt: Receipt) -> Receipt {
    var receipt = receipt
    receipt.seal = Array(HMAC<SHA256>.authenticationCode(for: Self.text(receipt), using: key))
    return receipt
  }

  /// Compared in the same time wherever it differs.
  func isGenuine(_ receipt: Receipt) -> Bool {
    HMAC<SHA256>.isValidAuthenticationCode(receipt.seal, authenticating: Self.text(receipt), using: key)
  }

  /// The name comes last: it is the one part whose length is not fixed.
  private static func text(_ receipt: Receipt) -> [UInt8] {
    var text = Array("baton receipt 1\0".utf8)
    for number in [receipt.tenure, receipt.sequence] {
      withUnsafeBytes(of: number.bigEndian) { text.append(contentsOf: $0) }
    }
    return text + Array(receipt.store.utf8)
  }
}
