/// How many commits a store has made. Every answer that the store gave before the receipt is durable in the store. The
/// number rises with every commit that changes something, so a store whose number is lower than the last one that a
/// worker heard went backwards (promise P12).
package struct Receipt: Hashable, Sendable {
  /// The store's incarnation: numbers of two incarnations say nothing of each other.
  package var store: String
  /// Which start of a coordinator it is of, by a number drawn for each: one that starts on an older copy counts on from
  /// there, and soon has as many commits as were lost.
  package var tenure: Int64
  package var sequence: Int64
  /// The coordinator's signature: without a right one a receipt counts for nothing. Empty until it is signed.
  package var seal: [UInt8]

  package init(store: String, tenure: Int64, sequence: Int64, seal: [UInt8] = []) {
    self.seal = seal
    self.store = store
    self.tenure = tenure
    self.sequence = sequence
  }

  /// Takes the later one; of two stores or starts the one that was heard last.
  package mutating func join(_ other: Receipt) {
    if other.store != store || other.tenure != tenure || other.sequence > sequence { self = other }
  }
}
