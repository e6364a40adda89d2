package import PriceStore

extension RetentionReader {
    /// How the rows of a request would be deleted now.
    package func outline(of request: SurveyRequest) throws(StoreError) -> DeletionOutline {
        try outline(of: request, after: survey(request))
    }
}

extension RetentionWriter {
    /// The deletion of the rows that a request names now.
    package func deletion(of request: SurveyRequest) throws(StoreError) -> any Deletion {
        try deletion(of: request, after: survey(request))
    }
}
