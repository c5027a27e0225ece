package import BatonModel

/// How far a backup is.
package struct BackupProgress: Hashable, Sendable {
  /// Pages of the database that were copied, from 0 to `totalPages`. Both stay the same while the copy is checked.
  package var pages: Int
  package var totalPages: Int

  package init(pages: Int, totalPages: Int) { (self.pages, self.totalPages) = (pages, totalPages) }
}

/// A backup that is on its disk under its final name, and was found whole.
package struct BackupSummary: Hashable, Sendable {
  /// Absolute, on the machine that the store is on.
  package var path: String
  package var bytes: Int
  /// How far the copy is: everything that was answered up to this receipt is in it.
  package var receipt: Receipt

  package init(path: String, bytes: Int, receipt: Receipt) {
    (self.path, self.bytes, self.receipt) = (path, bytes, receipt)
  }
}
