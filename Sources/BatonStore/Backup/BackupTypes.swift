package import BatonModel

/// How far a running backup has come.
package struct BackupProgress: Hashable, Sendable {
  /// Pages of the database that were copied so far, from 0 to `totalPages`. Both numbers stay the same while the copy
  /// is checked.
  package var pages: Int
  package var totalPages: Int

  package init(pages: Int, totalPages: Int) { (self.pages, self.totalPages) = (pages, totalPages) }
}

/// A finished backup: the file is on the disk under its final name, and its integrity was checked.
package struct BackupSummary: Hashable, Sendable {
  /// The absolute path on the store's machine.
  package var path: String
  package var bytes: Int
  /// The receipt that the copy contains: every change that was acknowledged up to this receipt is in the copy.
  package var receipt: Receipt

  package init(path: String, bytes: Int, receipt: Receipt) {
    (self.path, self.bytes, self.receipt) = (path, bytes, receipt)
  }
}
